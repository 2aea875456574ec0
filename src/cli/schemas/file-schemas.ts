import { templateFile } from '../../contract/templates.js'
import { scenarioSchema } from './scenario-schema.js'

const DRAFT = { $schema: 'http://json-schema.org/draft-07/schema#' }

/** JSON Schemas of the files that users write, by file name. The build writes them into the package. */
export const fileSchemas: Readonly<Record<string, object>> = {
  'templates.schema.json': { ...DRAFT, title: 'Template file of voucherctl', ...templateFile },
  'scenario.schema.json': { ...DRAFT, title: 'Scenario file of voucherctl', ...scenarioSchema },
}
