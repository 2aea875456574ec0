import type { FailureCode } from './errors.js'
import { type Schema, type Static, Type, withExample } from './schema.js'

/**
 * Schemas for members of records. Validation errors quote `x-expected` after "must be"; patterns use the u flag, and
 * lengths count code points (rules/calls.md#text).
 */
const CONTROL_OR_OVERRIDE = '\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff'

/** Human text: no control characters, lone surrogates or bidi overrides. */
export function text(minLength: number, maxLength: number, example?: string) {
  return Type.String({
    example,
    minLength,
    maxLength,
    pattern: `^[^${CONTROL_OR_OVERRIDE}]*$`,
    'x-expected': `text of ${minLength} to ${maxLength} characters without control characters or bidi overrides`,
  })
}

/** Text of a message, whose lines may end with LF or CR LF (rules/bots.md#lines-of-a-message). */
export function messageText(maxLength: number, example: string) {
  return Type.String({
    example,
    minLength: 1,
    maxLength,
    pattern: `^(?:[^${CONTROL_OR_OVERRIDE}]|\\t|\\r?\\n)*$`,
    'x-expected': `text of 1 to ${maxLength} characters; of control characters, line feeds and tabs alone`,
  })
}

/** Identifier for machines: visible ASCII, case-sensitive. */
export function machineId(maxLength: number, keywords: Readonly<Record<string, unknown>> & { example?: string } = {}) {
  return Type.String({
    pattern: `^[!-~]{1,${maxLength}}$`,
    'x-expected': `1 to ${maxLength} visible ASCII characters without spaces`,
    ...keywords,
  })
}

/** Input of an RFC 3339 instant with an explicit offset. Whether the day exists is checked by the parser. */
export const instantInput = Type.String({
  pattern:
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$',
  'x-openapi': { format: 'date-time' },
  'x-expected': 'an RFC 3339 time with an offset, such as 2027-01-31T00:00:00Z',
})

/** Output of an instant: RFC 3339 in UTC with milliseconds. */
export const instantAt = (example: string) => Type.Instant({ description: 'RFC 3339, UTC, milliseconds', example })

// All examples describe one coffee shop, with consistent ids and times.
export const instant = instantAt('2026-11-21T10:00:00.000Z')
/** An instant some minutes after the examples of `instant`. */
export const laterInstant = instantAt('2026-11-21T10:05:00.000Z')
export const unixSeconds = Type.Integer({ example: 1_795_255_200 })

const id = (example: string) => Type.String({ example })
const ofKind = (kind: string, last: string) => id(`${kind}_01JDKQ4Z8N6W2T5Y9RB3CV7HX${last}`)

/** Ids of records, by the names of path parameters. */
export const ids = {
  appId: ofKind('app', 'A'),
  tokenId: ofKind('tok', 'K'),
  templateId: ofKind('tpl', 'T'),
  voucherId: ofKind('vch', 'V'),
  redemptionId: ofKind('rdm', 'R'),
  botId: ofKind('bot', 'B'),
  chatId: ofKind('chat', 'C'),
  deliveryId: ofKind('dlv', 'D'),
  faultId: ofKind('flt', 'F'),
} as const
export const accountId = id('acme')
export const userId = id('user-42')
export const requestId = id('req_01JZ0000000000000000000000')

/**
 * Allows null in addition to `schema`, by a `type` array: a serialiser would try each alternative of a union. Without an
 * example, the example of `schema` is used; if it has none either, null.
 */
export function nullable<S extends Schema>(schema: S, example?: Static<S> | null) {
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] }
  const types = values === undefined ? { type: [type, 'null'] } : { type: ['string', 'null'], enum: [...values, null] }
  return Type.Unsafe<Static<S> | null>(withExample({ ...schema, ...types }, example))
}

/** Marks a member with a secret value, which no observer of calls may see (rules/operator.md#secrets-of-exchanges). */
export const secret = { 'x-secret': true } as const
export const isSecret = (schema: Schema | undefined): boolean => schema !== undefined && 'x-secret' in schema

/** Marks a member whose value the platform accepts once, with the code of the refusal of a second one. */
export const unique = (
  code: FailureCode,
  lengthMax: number,
  separator: '-' | '_',
): { readonly 'x-unique': Unique } => ({
  'x-unique': { code, lengthMax, separator },
})

export interface Unique {
  readonly code: FailureCode
  /** Maximum length of the value. */
  readonly lengthMax: number
  /** Character that may stand between the value and what makes it unique. */
  readonly separator: '-' | '_'
}

export const metadataInput = Type.Unsafe<Record<string, string>>({
  type: 'object',
  propertyNames: text(1, 40),
  additionalProperties: text(0, 500),
  maxProperties: 20,
  'x-expected': 'at most 20 pairs of strings, keys of 1 to 40 characters, values of at most 500',
})
export const metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
})

export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'from 1, default 1' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: '1 to 100, default 20' })),
}

/** Query member that sorts a list by a column; `-` before its name is the highest first. */
export const sortBy = <const Name extends string>(...columns: readonly Name[]) =>
  Type.Optional(oneOf(columns.flatMap((it) => [it, `-${it}`] as const)))

/** Schema of a list response: `items` newest first, then by id, with `pagination`. */
export function page<S extends Schema>(item: S) {
  return Type.Object({
    items: Type.Array(item),
    pagination: Type.Object({
      page: Type.Integer({ example: 1 }),
      limit: Type.Integer({ example: 20 }),
      total: Type.Integer({ example: 1 }),
      pages: Type.Integer({ example: 1 }),
    }),
  })
}

/** Schema of an input object that rejects unknown members. */
export function input<P extends Record<string, Schema>>(properties: P, keywords?: Readonly<Record<string, unknown>>) {
  return Type.Object(properties, { additionalProperties: false, ...keywords })
}

/** Documents that the handler refuses duplicates; validating `uniqueItems` is quadratic in an unbounded list. */
export const withoutDuplicates = { 'x-openapi': { uniqueItems: true } }

/** Schema of a string with a fixed set of values. @param example default: the first value */
export function oneOf<const V extends readonly string[]>(values: V, example?: V[number]) {
  return Type.Unsafe<V[number]>(withExample({ type: 'string', enum: [...values] }, example))
}

/** Values of fulfillment_category in templates and vouchers. */
export const fulfillmentCategories = ['physical_goods', 'offline_service', 'ecommerce_discount'] as const

/** Members of a template that its vouchers show. */
export const templateSummary = {
  externalTemplateId: Type.String({ example: 'coffee-1' }),
  name: Type.String({ example: 'One free coffee' }),
  type: Type.String({ example: 'gift' }),
  issuerName: Type.String({ example: 'Coffee shop' }),
  fulfillerName: Type.String({ example: 'Coffee shop' }),
  fulfillmentCategory: oneOf(fulfillmentCategories, 'offline_service'),
}
