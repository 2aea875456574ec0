import fc from 'fast-check'
import type { Schema as AnySchema } from '../../src/contract/schema.js'

/** The JSON Schema keywords that the contract uses. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly propertyNames?: Schema
  readonly maxProperties?: number
}

/** Characters of one to four UTF-8 bytes that every text member accepts. */
const symbol = fc.constantFrom('a', 'Z', '7', '-', 'é', 'ß', '名', '🎟')

/** Dates to which a test can add any validity without leaving the valid years. */
const instant = fc
  .date({ min: new Date('2027-04-01T00:00:00Z'), max: new Date('2030-01-01T00:00:00Z'), noInvalidDate: true })
  .map((it) => it.toISOString())

/** fast-check needs 200 ms to build this; not every text that matches the URL pattern is a valid URL. */
const url = fc.webUrl({ validSchemes: ['https'] })

function textOf({ pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (pattern?.includes('\\d{4}-(0')) return instant
  if (pattern?.startsWith('^https')) return url
  if (pattern !== undefined && !/^\^(\(\?:)?\[\^/.test(pattern)) return fc.stringMatching(new RegExp(pattern, 'u'))
  const longest = 'x'.repeat(maxLength)
  const some = fc.string({ unit: symbol, minLength, maxLength: Math.max(minLength, Math.min(maxLength, 20)) })
  return fc.oneof({ weight: 5, arbitrary: some }, { weight: 1, arbitrary: fc.constant(longest) })
}

/** Generates values that the schema allows, including the longest and largest ones. */
export function allowedBy(schema: AnySchema | Schema): fc.Arbitrary<unknown> {
  const it = schema as Schema
  if (it.anyOf !== undefined) return fc.oneof(...it.anyOf.map(allowedBy))
  if ('const' in it) return fc.constant(it.const)
  if (it.enum !== undefined) return fc.constantFrom(...it.enum)
  if (Array.isArray(it.type)) return fc.oneof(...it.type.map((type) => allowedBy({ ...it, type })))
  switch (it.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
    case 'number':
      return fc.integer({
        min: it.minimum ?? (it.exclusiveMinimum ?? -1) + 1,
        max: Math.min(it.maximum ?? 1_000, 2 ** 31 - 1),
      })
    case 'string':
      return textOf(it)
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 5 } = it
      return fc.uniqueArray(allowedBy(items), {
        minLength: minItems,
        maxLength: Math.min(maxItems, 5),
        selector: (value) => JSON.stringify(value),
      })
    }
    case 'object':
      return objectOf(it)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function objectOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.properties === undefined || Object.keys(schema.properties).length === 0) {
    const { additionalProperties: value = {}, propertyNames = { type: 'string' }, maxProperties = 5 } = schema
    if (typeof value === 'boolean') return fc.constant({})
    const maxKeys = Math.min(maxProperties, 4)
    return fc.dictionary(allowedBy(propertyNames) as fc.Arbitrary<string>, allowedBy(value), {
      maxKeys,
      noNullPrototype: true,
    })
  }
  const members = Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => [name, allowedBy(member)]),
  )
  return fc.record(members, { requiredKeys: [...(schema.required ?? [])], noNullPrototype: true })
}

/** Generates values that the schema refuses, for each of its rules. */
export function refusedBy(schema: AnySchema | Schema): fc.Arbitrary<unknown> {
  const it = schema as Schema
  const types = it.anyOf?.map(({ type }) => type) ?? [it.type].flat()
  const other = [
    ...(types.includes('string') || it.enum !== undefined ? [5, true, ['x'], { x: 1 }] : []),
    ...(types.includes('integer') ? ['5', 1.5, 1e300, true, [1]] : []),
    ...(types.includes('boolean') ? ['true', 0, 1] : []),
    ...(types.includes('array') ? ['x', 5, { 0: 'x' }] : []),
    ...(types.includes('object') ? ['x', 5, ['x']] : []),
    ...(types.includes('null') ? [] : [null]),
    ...(it.enum !== undefined ? ['no_such_value', ''] : []),
    ...(it.maxLength !== undefined ? ['x'.repeat(it.maxLength + 1)] : []),
    ...((it.minLength ?? 0) > 0 ? [''] : []),
    ...(it.pattern !== undefined ? ['\u0000', 'a\u202eb'] : []),
    ...(it.minimum !== undefined ? [it.minimum - 1] : []),
    ...(it.maximum !== undefined ? [it.maximum + 1] : []),
    ...(it.maxItems !== undefined ? [Array.from({ length: it.maxItems + 1 }, (_, index) => index)] : []),
    ...(it.maxProperties !== undefined
      ? [Object.fromEntries(Array.from({ length: it.maxProperties + 1 }, (_, index) => [`k${index}`, 'x']))]
      : []),
  ]
  return fc.constantFrom(...other)
}
