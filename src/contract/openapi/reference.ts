import { defined } from '../../values/json.js'
import { callHeaders, JSON_TYPE } from '../call-request.js'
import { curlOf as curlText } from '../call-text.js'
import { type Endpoint, failuresOf } from '../endpoint.js'
import { type FailureCode, failures } from '../errors.js'
import { isSecret } from '../fields.js'
import { contract } from '../index.js'
import { actingCalls } from '../platform/acting.js'
import type { Reference, ReferenceEndpoint, ReferenceMember } from '../platform/reference.js'
import { exampleOf, type ReadSchema } from '../schema.js'
import { bodyExample, dataExample, type JsonObject } from './examples.js'
import { tagDescriptions } from './openapi.js'

let made: Reference | undefined

/** Returns every endpoint in words and examples: the contract for people, as the OpenAPI document is for programs. */
export function reference(): Reference {
  made ??= {
    groups: Object.entries(contract).map(([name, group]) => ({
      name,
      description: tagDescriptions[name] ?? name,
      endpoints: Object.values(group).map(describe),
    })),
    failures: Object.entries(failures).map(([code, { status, message, fix }]) => ({ code, status, message, fix })),
  }
  return made
}

function describe(endpoint: Endpoint): ReferenceEndpoint {
  const {
    id,
    method,
    path,
    summary,
    command = null,
    caller,
    scope = null,
    idempotent,
    status,
    params,
    query,
    body,
    output,
    irreversible = null,
  } = endpoint
  const key = idempotent === undefined ? undefined : `order-1001-${id.slice(id.indexOf('.') + 1)}`
  const idempotency_key = idempotent === undefined ? null : idempotent === true ? 'required' : 'optional'
  const parts = Object.entries({ path: params, query, body }) as [ReferenceMember['in'], ReadSchema | undefined][]
  const examples = { ...parametersOf(endpoint), ...bodyExample(endpoint) }
  return {
    ...{ id, method, path, summary, command, caller, scope, idempotency_key, status, irreversible },
    terminal_only: reasonForTerminal(endpoint),
    members: parts.flatMap(([place, schema]) => inputsOf(place, schema, examples)),
    output: membersOf(output as ReadSchema),
    failures: codesOf(endpoint),
    example: {
      curl: curlOf(endpoint, key),
      client: clientCallOf(endpoint, key),
      response: JSON.stringify(dataExample(endpoint), null, 2),
    },
  }
}

/** Says why the page cannot make a call; null if it can. */
function reasonForTerminal({ id, caller, streams }: Endpoint): string | null {
  if (streams) return 'it returns a stream'
  const isOffered = caller === 'operator' || actingCalls(caller).some((it) => it.id === id)
  return isOffered ? null : 'it returns a token, which a page never gets'
}

/** Codes of an endpoint: first the codes of its work, then by status the codes that others have too. */
function codesOf(endpoint: Endpoint): FailureCode[] {
  const byStatus = failuresOf(endpoint).toSorted((one, other) => failures[one].status - failures[other].status)
  return [...new Set([...endpoint.failures, ...byStatus])]
}

type Member = ReferenceEndpoint['output'][number]

/** Members of an input, those that are not within others with what a form needs. */
function inputsOf(
  place: ReferenceMember['in'],
  schema: ReadSchema | undefined,
  examples: JsonObject,
): ReferenceMember[] {
  const { properties = {} } = schema ?? {}
  return membersOf(schema).map((it) => {
    const own = properties[it.name] ?? {}
    const values = own.enum?.filter((value) => value !== null)
    const secret = isSecret(own) || undefined
    return { in: place, ...it, ...defined({ values, secret, example: examples[it.name] }) }
  })
}

/** Members of an object, and of its objects and lists, such as `credential.type` and `links[].url`. */
function membersOf({ properties = {}, required = [], anyOf }: ReadSchema = {}, prefix = ''): Member[] {
  if (anyOf !== undefined) return membersOfAny(anyOf, prefix)
  return Object.entries(properties).flatMap(([name, schema]) => [
    { name: prefix + name, type: typeOf(schema), required: required.includes(name), description: ruleOf(schema) },
    ...membersOf(schema, `${prefix + name}.`),
    ...membersOf(schema.items, `${prefix + name}[].`),
  ])
}

/** Members of alternatives that differ in `type`; the others say for which type they are. */
function membersOfAny(alternatives: readonly ReadSchema[], prefix: string): Member[] {
  const types = alternatives.map(({ properties }) => JSON.stringify(properties?.type?.const))
  const own = alternatives.flatMap((schema, index) =>
    membersOf(schema, prefix)
      .filter(({ name }) => name !== `${prefix}type`)
      .map((it) => ({ ...it, description: `with type ${types[index]}; ${it.description}`.replace(/; $/, '') })),
  )
  return [{ name: `${prefix}type`, type: types.join(' | '), required: true, description: '' }, ...own]
}

function typeOf({ type, enum: values, items, const: value }: ReadSchema): string {
  if (value !== undefined) return JSON.stringify(value)
  if (values !== undefined) return values.map((it) => JSON.stringify(it)).join(' | ')
  if (items !== undefined) return items.enum === undefined ? `${typeOf(items)}[]` : `(${typeOf(items)})[]`
  return type === undefined ? 'object' : [type].flat().join(' | ')
}

const ruleOf = ({ description, 'x-expected': expected, minimum, maximum }: ReadSchema): string =>
  description ?? expected ?? (maximum === undefined ? '' : `${minimum} to ${maximum}`)

const parametersOf = ({ params }: Endpoint) =>
  (params === undefined ? {} : exampleOf(params)) as Readonly<Record<string, string>>

/** A command for bash in which variables stand for the server and the credential. */
function curlOf(endpoint: Endpoint, key: string | undefined): string {
  const { method, path, caller } = endpoint
  const ids = parametersOf(endpoint)
  const target = path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => ids[name] as string)
  const input = bodyExample(endpoint)
  const body = Object.keys(input).length > 0 ? JSON.stringify(input) : undefined
  const headers = callHeaders({ media: body && JSON_TYPE, idempotencyKey: key })
  const url = [{ variable: 'VOUCHERCTL_BASE_URL' }, target]
  return curlText({ method, url, headers: Object.entries(headers), body, caller })
}

/** A call of the client library, whose input has the members of path and body. */
function clientCallOf(endpoint: Endpoint, key: string | undefined): string {
  const input = literalOf({ ...parametersOf(endpoint), ...bodyExample(endpoint) })
  return `await client.${endpoint.id}(${input}${key === undefined ? '' : `, ${literalOf({ idempotencyKey: key })}`})`
}

/** Longest literal on one line. */
const LINE_MAX = 60

/** Formats an object as a literal of JavaScript, on one line if it is short. */
function literalOf(value: JsonObject): string {
  const lines = JSON.stringify(value, null, 2)
    .replaceAll(/"([A-Za-z_]\w*)":/g, '$1:')
    .replaceAll(/"([^"'\\]*)"(?!:)/g, "'$1'")
  const line = lines.replaceAll(/\n */g, ' ')
  return line.length <= LINE_MAX ? line : lines
}
