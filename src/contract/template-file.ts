import { input } from './fields.js'
import { Type } from './schema.js'
import { templateInput } from './templates.js'

/** A template file (DECISIONS.md#template-files). */
export const templateFile = input({ templates: Type.Array(templateInput, { minItems: 1 }) })
