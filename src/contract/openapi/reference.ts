import { type CredentialKind, type Endpoint, failuresOf, pathParameters } from '../endpoint.js'
import { type FailureCode, failures } from '../errors.js'
import { contract } from '../index.js'
import type { Reference, ReferenceEndpoint, ReferenceMember } from '../platform/reference.js'
import type { Schema } from '../schema.js'
import { curlCommand } from '../values/curl.js'
import type { ShellText } from '../values/shell-word.js'
import { bodyExample, dataExample, type JsonObject, parameterExamples } from './examples.js'
import { tagDescriptions } from './openapi.js'
import { nameOf } from './schema.js'

/** Returns every endpoint in words and examples: the contract for people, as the OpenAPI document is for programs. */
export function reference(): Reference {
  return {
    groups: Object.entries(contract).map(([name, group]) => ({
      name,
      description: tagDescriptions[name] ?? name,
      endpoints: Object.values(group).map(describe),
    })),
    failures: Object.entries(failures).map(([code, { status, message, fix }]) => ({ code, status, message, fix })),
  }
}

function describe(endpoint: Endpoint): ReferenceEndpoint {
  const { id, method, path, summary, caller, scope, idempotent, status, params, query, body } = endpoint
  const key = idempotent === undefined ? undefined : `order-1001-${id.slice(id.indexOf('.') + 1)}`
  return {
    id,
    method,
    path,
    summary,
    caller,
    scope: scope ?? null,
    idempotency_key: idempotent === undefined ? null : idempotent === true ? 'required' : 'optional',
    status,
    params: membersOf(params as ReadSchema | undefined),
    query: membersOf(query as ReadSchema | undefined),
    body: membersOf(body as ReadSchema | undefined),
    failures: codesOf(endpoint),
    example: {
      curl: curlOf(endpoint, key),
      client: clientCallOf(endpoint, key),
      response: JSON.stringify(dataExample(endpoint, nameOf), null, 2),
    },
  }
}

/** Codes of an endpoint: those of its own work first, then by status those that others have too. */
function codesOf(endpoint: Endpoint): FailureCode[] {
  const byStatus = failuresOf(endpoint).toSorted((one, other) => failures[one].status - failures[other].status)
  return [...new Set([...endpoint.failures, ...byStatus])]
}

/** Keywords of a schema that the reference puts into words. */
interface ReadSchema extends Schema {
  readonly type?: string | readonly string[]
  readonly const?: string
  readonly enum?: readonly (string | null)[]
  readonly anyOf?: readonly ReadSchema[]
  readonly items?: ReadSchema
  readonly properties?: Readonly<Record<string, ReadSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly 'x-expected'?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** Members of an object with those of its objects and lists, such as `credential.type` and `links[].url`. */
function membersOf({ properties = {}, required = [], anyOf }: ReadSchema = {}, prefix = ''): ReferenceMember[] {
  if (anyOf !== undefined) return membersOfAny(anyOf, prefix)
  return Object.entries(properties).flatMap(([name, schema]) => [
    {
      name: prefix + name,
      type: typeOf(schema),
      required: required.includes(name),
      description: descriptionOf(schema),
    },
    ...membersOf(schema, `${prefix + name}.`),
    ...membersOf(schema.items, `${prefix + name}[].`),
  ])
}

/** Members of alternatives: `type` tells which one it is, and others say for which types they are. */
function membersOfAny(alternatives: readonly ReadSchema[], prefix: string): ReferenceMember[] {
  const all = alternatives.flatMap((schema) =>
    membersOf(schema, prefix).map((member) => {
      const kind = schema.properties?.type?.const
      const isOnly = kind !== undefined && member.name !== `${prefix}type`
      return isOnly ? { ...member, description: withType(member.description, kind) } : member
    }),
  )
  const types = all.filter(({ name }) => name === `${prefix}type`)
  const [first] = types
  if (first === undefined) return all
  return [{ ...first, type: types.map(({ type }) => type).join(' | ') }, ...all.filter((it) => !types.includes(it))]
}

const withType = (description: string, kind: string) =>
  [`with type "${kind}"`, description].filter((it) => it !== '').join('; ')

function typeOf(schema: ReadSchema): string {
  const { type, enum: values, items } = schema
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (values !== undefined) return values.map((it) => JSON.stringify(it)).join(' | ')
  if (items !== undefined) return items.enum === undefined ? `${typeOf(items)}[]` : `(${typeOf(items)})[]`
  return type === undefined ? 'object' : [type].flat().join(' | ')
}

function descriptionOf(schema: ReadSchema): string {
  const { minimum, exclusiveMinimum, maximum } = schema
  const expected = schema['x-expected']
  if (schema.description !== undefined) return schema.description
  if (expected !== undefined) return expected
  if (maximum === undefined) return ''
  return minimum === undefined ? `above ${exclusiveMinimum}, up to ${maximum}` : `${minimum} to ${maximum}`
}

/** Environment variable of the command line with each kind of credential. */
const variables: Readonly<Record<CredentialKind, string>> = {
  token: 'VOUCHERCTL_TOKEN',
  bot: 'VOUCHERCTL_BOT_TOKEN',
  jwt: 'VOUCHERCTL_JWT',
  operator: 'VOUCHERCTL_OPERATOR_KEY',
}

/** A command for bash in which variables stand for the server and the credential. */
function curlOf(endpoint: Endpoint, key: string | undefined): string {
  const { method, path, caller } = endpoint
  const target = path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => parameterExamples[name] ?? name)
  const body = hasBody(endpoint) ? JSON.stringify(bodyExample(endpoint)) : undefined
  const headers: ShellText[] = [['Authorization: Bearer ', { variable: variables[caller] }]]
  if (body !== undefined) headers.push('Content-Type: application/json')
  if (key !== undefined) headers.push(`Idempotency-Key: ${key}`)
  return curlCommand('', { method, url: [{ variable: 'VOUCHERCTL_BASE_URL' }, target], headers, body })
}

function clientCallOf(endpoint: Endpoint, key: string | undefined): string {
  const { id, path } = endpoint
  const parameters = pathParameters(path).map((name) => [name, parameterExamples[name] ?? name])
  const input = { ...Object.fromEntries(parameters), ...(hasBody(endpoint) ? bodyExample(endpoint) : {}) }
  const options = key === undefined ? '' : `, ${literalOf({ idempotencyKey: key })}`
  return `await client.${id}(${literalOf(input)}${options})`
}

const hasBody = (endpoint: Endpoint) => Object.keys(bodyExample(endpoint)).length > 0

/** Longest literal on one line. */
const LINE_MAX = 60

/** Formats an object as a literal of JavaScript, on one line if it is short. */
function literalOf(value: JsonObject): string {
  const json = JSON.stringify(value, null, 2)
  const lines = json.replaceAll(/"((?:[^"\\]|\\.)*)"(:?)/g, (text, content: string, colon: string) => {
    if (colon !== '') return /^[A-Za-z_]\w*$/.test(content) ? `${content}:` : text
    return /['\\]/.test(content) ? text : `'${content}'`
  })
  const line = lines.replaceAll(/\n */g, ' ')
  return line.length <= LINE_MAX ? line : lines
}
