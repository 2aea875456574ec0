import { fileSchema } from '../../contract/openapi/file-schema.js'
import { templateFile } from '../../contract/templates.js'
import { scenarioSchema } from './scenario-schema.js'

/** JSON Schemas of the files that users write, as text by file name. The build writes them into the package. */
export const fileSchemas: Readonly<Record<string, string>> = {
  'templates.schema.json': fileSchema('Template file of voucherctl', templateFile),
  'scenario.schema.json': fileSchema('Scenario file of voucherctl', scenarioSchema),
}
