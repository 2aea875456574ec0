import { fileSchema } from '../contract/openapi/file-schema.js'
import { seedSchema } from './seed/schema.js'

/** JSON Schemas of the files that a server reads, as text by file name. The build writes them into the package. */
export const fileSchemas: Readonly<Record<string, string>> = {
  'seed.schema.json': fileSchema('Seed file of voucherctl', seedSchema),
}
