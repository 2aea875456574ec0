/** Formats the JSON Schema of a file that users write. */
export function fileSchema(title: string, schema: object): string {
  const whole = { $schema: 'http://json-schema.org/draft-07/schema#', title, ...schema }
  return `${JSON.stringify(whole, withoutOwnKeywords)}\n`
}

/** Drops keywords of the contract that JSON Schema lacks; `x-expected` becomes a description. */
function withoutOwnKeywords(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const {
    'x-expected': expected,
    'x-openapi': _openapi,
    'x-unique': _unique,
    ...rest
  } = value as Readonly<Record<string, unknown>>
  return expected === undefined ? rest : { description: expected, ...rest }
}
