import { templateFile } from '../../contract/templates.js'
import { scenarioSchema } from './scenario-schema.js'

const DRAFT = { $schema: 'http://json-schema.org/draft-07/schema#' }

/** JSON Schemas of the files that users write, as text by file name. The build writes them into the package. */
export const fileSchemas: Readonly<Record<string, string>> = {
  'templates.schema.json': textOf({ ...DRAFT, title: 'Template file of voucherctl', ...templateFile }),
  'scenario.schema.json': textOf({ ...DRAFT, title: 'Scenario file of voucherctl', ...scenarioSchema }),
}

function textOf(schema: object): string {
  return `${JSON.stringify(schema, withoutOwnKeywords)}\n`
}

/** Drops the keywords of the contract that JSON Schema does not have; `x-expected` becomes a description. */
function withoutOwnKeywords(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { 'x-expected': expected, 'x-openapi': _openapi, ...rest } = value as Readonly<Record<string, unknown>>
  return expected === undefined ? rest : { description: expected, ...rest }
}
