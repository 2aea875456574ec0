import { type Endpoint, membersOf } from '../../contract/endpoint.js'
import { failures } from '../../contract/errors.js'
import { endpoints } from '../../contract/index.js'
import type { ReadSchema } from '../../contract/schema.js'
import { updateTypes } from '../../contract/updates.js'

type JsonSchema = Readonly<Record<string, unknown>>

/** A text with a variable reference may stand for a value of any type. */
const reference: JsonSchema = { $ref: '#/definitions/reference' }
const text = { type: 'string', minLength: 1 }
const texts = { type: 'object', additionalProperties: text }
const duration = { type: ['string', 'integer'], description: 'Such as 500ms, 30s, 5m, 2h or 31d' }
const record = (properties: JsonSchema, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...(required.length === 0 ? {} : { required }),
})

/** Allows a variable reference in place of each value. */
function withReferences(schema: object): JsonSchema {
  const { type, properties, items, anyOf } = schema as ReadSchema
  const inner: JsonSchema = {
    ...schema,
    ...(properties === undefined ? {} : { properties: membersWithReferences(properties) }),
    ...(items === undefined ? {} : { items: withReferences(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withReferences) }),
  }
  return type === undefined && anyOf === undefined ? inner : { anyOf: [reference, inner] }
}

const membersWithReferences = (properties: object) =>
  Object.fromEntries(Object.entries(properties).map(([name, it]) => [name, withReferences(it)]))

/** Schema of an endpoint's flat input: path parameters, query members and body members. */
export function inputSchema({ params, query, body }: Endpoint): JsonSchema {
  if (body !== undefined && !('properties' in body)) return { properties: {} }
  const parts = [params, query, body].filter((it) => it !== undefined)
  const required = parts.flatMap((it) => ('required' in it ? (it.required as string[]) : []))
  return record(Object.assign({}, ...parts.map(membersOf)) as JsonSchema, required)
}

function inputWithReferences(endpoint: Endpoint): JsonSchema {
  const { properties, ...rest } = inputSchema(endpoint)
  return { ...rest, properties: membersWithReferences(properties as object) }
}

const that = { anyOf: [text, { type: 'array', items: text }], description: 'jq expressions that must be true' }
const common = { name: text, capture: texts, use: record({ token: text, bot: text, jwt: text, operator: text }) }
const status = { type: 'integer', minimum: 100, maximum: 599 }
/** Any code is valid, because planted faults may have their own; the reference codes are suggested. */
const code = { anyOf: [{ enum: Object.keys(failures) }, text] }
const expectation = record({ status, code, replayed: { type: 'boolean' }, data: {}, details: {}, that })

const callable = endpoints.filter((it) => !it.streams)

const call = {
  ...record(
    {
      ...common,
      call: {
        anyOf: [
          { enum: callable.map(({ id }) => id) },
          { type: 'string', pattern: '^[A-Z]+\\s+\\S+$', description: 'Method and path' },
        ],
      },
      as: { enum: ['token', 'bot', 'jwt', 'operator', 'none'] },
      with: {},
      key: text,
      within: duration,
      expect: expectation,
    },
    ['call'],
  ),
  allOf: callable.map((endpoint) => ({
    if: { properties: { call: { const: endpoint.id } } },
    then: { properties: { with: inputWithReferences(endpoint) } },
  })),
}

const receive = record(
  { ...common, receive: { enum: updateTypes }, within: duration, expect: record({ data: {}, that }) },
  ['receive'],
)

const advance = record({ name: text, advance: duration }, ['advance'])

const steps = { type: 'array', minItems: 1, items: { $ref: '#/definitions/step' } }

const thenUse = (name: string) => ({ then: { $ref: `#/definitions/${name}` } })

/** JSON Schema of a scenario file, for editors; `scenario run` itself checks more. */
export const scenarioSchema = {
  ...record(
    {
      name: text,
      server: record({
        own: { type: 'boolean' },
        auto_approve: { type: 'boolean' },
        require_secure: { type: 'boolean' },
      }),
      webhook: record({ respond: { type: ['string', 'integer'], description: 'Such as 500,timeout,200' } }),
      vars: { type: 'object' },
      steps,
      teardown: steps,
    },
    ['steps'],
  ),
  definitions: {
    reference: { type: 'string', pattern: '\\$\\{[^}]+\\}', description: 'A variable, such as ${name}' },
    step: {
      type: 'object',
      oneOf: [{ required: ['call'] }, { required: ['receive'] }, { required: ['advance'] }],
      allOf: [
        { if: { required: ['call'] }, ...thenUse('call') },
        { if: { required: ['receive'] }, ...thenUse('receive') },
        { if: { required: ['advance'] }, ...thenUse('advance') },
      ],
    },
    call,
    receive,
    advance,
  },
}
