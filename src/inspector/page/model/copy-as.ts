import type { CapturedExchange, RequestLogEntry } from '../../../contract/platform/activity.js'
import { CAPTURED_BYTES_MAX, HIDDEN } from '../../../contract/platform/captured.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { credentialVariables, splitAt } from '../../../contract/secrets.js'
import { curlCommand } from '../../../values/curl.js'
import { readTarget } from '../../../values/path-part.js'
import { shellWord } from '../../../values/shell-word.js'
import { bytesOf, textOf } from './bytes.js'
import { base64Of } from './edited-bytes.js'

// Texts that repeat a call elsewhere. They contain no secret, because the server has replaced secrets with HIDDEN.

/** What the page knows about the endpoint of a call; undefined for a call of no route. */
type Facts = Pick<ReferenceEndpoint, 'caller' | 'members'> | undefined

export type Sent = CapturedExchange['request']

/** The request of a call that was not made yet. @param body is sent as JSON */
export function requestOf(method: string, url: string, body?: object, headers: Sent['headers'] = []): Sent {
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body))
  const json: Sent['headers'] = body === undefined ? [] : [['Content-Type', 'application/json']]
  const all = [['Authorization', HIDDEN], ...json, ...headers] as Sent['headers']
  return { method, url, headers: all, body: body === undefined ? null : base64Of(bytes), body_bytes: bytes.length }
}

/** True if the whole request was captured, so that it can be repeated. */
export const isWhole = ({ body, body_bytes }: Sent): boolean =>
  body_bytes <= CAPTURED_BYTES_MAX && (body !== null || body_bytes === 0)

/** Headers that curl sets itself, or that belong to one connection. */
const ownHeaders = /^(host|content-length|connection|accept-encoding|transfer-encoding|user-agent)$/i

/**
 * Path and query of a request at this server. A client chooses the target that it sends: `//host/path` would name
 * another host if it were resolved, and the server uses only the path of `http://host/path`.
 */
function pathOf({ url }: Pick<Sent, 'url'>): string {
  const path = url.replace(/^[^/]+\/\/[^/?]*/, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** Formats a command that repeats the request to this server, with the credential from the environment. */
export function curlOf(request: Sent, baseUrl: string, endpoint: Facts): string {
  const { method, headers, body } = request
  const path = pathOf(request)
  const text = body === null ? undefined : textOf(bytesOf(body))
  // A shell argument cannot hold every byte.
  const isBinary = text === null || text?.includes('\0')
  const command = curlCommand('i', {
    method,
    url: hide(new URL(baseUrl).origin + path),
    headers: headers
      .filter(([name]) => !ownHeaders.test(name))
      .map(([name, value]) =>
        /^authorization$/i.test(name)
          ? [`${name}: Bearer `, { variable: credentialVariables[endpoint?.caller ?? 'token'] }]
          : hide(`${name}: ${value}`),
      ),
    ...(isBinary ? { file: '-' } : text === undefined ? {} : { body: hide(text) }),
  })
  return isBinary ? `printf %s ${body} | base64 -d | ${command}` : command
}

const keyOf = ({ headers }: Sent) => headers.find(([it]) => /^idempotency-key$/i.test(it))?.[1]

const hide = (text: string) => splitAt(text, HIDDEN, 'SECRET')

/** Formats a voucherctl command that repeats the request; null for a body that no shell argument can hold. */
export function commandOf(request: Sent): string | null {
  const text = request.body === null ? undefined : textOf(bytesOf(request.body))
  if (text === null || text?.includes('\0')) return null
  const key = keyOf(request)
  const words = ['voucherctl api', shellWord(request.method), shellWord(hide(pathOf(request)))]
  if (key !== undefined) words.push('--idempotency-key', shellWord(hide(key)))
  return text ? `printf %s ${shellWord(hide(text))} |\n  ${words.join(' ')} --input -` : words.join(' ')
}

/** A call of the log, or one that was not made yet, with the result that is expected of it. */
export type Call = Pick<RequestLogEntry, 'endpoint' | 'method' | 'path' | 'status' | 'code'>

/** Flat input of the call: members of path, query and body; null if the body is not a JSON object. */
function inputOf({ path }: Call, request: Sent, endpoint: Facts): Record<string, unknown> | null {
  const { body } = request
  const { params, query } = readTarget(path ?? '', request.url)
  const input: Record<string, unknown> = params
  const isInteger = (name: string) =>
    endpoint?.members.some((it) => it.in === 'query' && it.name === name && it.type === 'integer')
  for (const [name, value] of query) input[name] = isInteger(name) ? Number(value) : value
  if (body === null) return input
  try {
    const read: unknown = JSON.parse(textOf(bytesOf(body)) ?? '')
    return read && typeof read === 'object' && !Array.isArray(read) ? { ...input, ...read } : null
  } catch {
    return null
  }
}

/** Common parts of a step and a test; null if neither can make the call. */
function partsOf(call: Call, request: Sent, endpoint: Facts) {
  const input = inputOf(call, request, endpoint)
  if (input === null || call.endpoint === null) return null
  return { endpoint: call.endpoint, input, key: keyOf(request) }
}

/** Formats JSON for a scenario; doubles a `$` before a brace, which would begin a variable. */
const yaml = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replaceAll('${', () => '$${')
    .replaceAll(HIDDEN, '${env.SECRET}')
    .replaceAll('\n', '\n    ')

/** A step of a scenario that makes the call and expects its result. */
export function stepOf(call: Call, request: Sent, facts: Facts): string | null {
  const parts = partsOf(call, request, facts)
  if (!parts) return null
  const { endpoint, input, key } = parts
  return `- call: ${endpoint}
  with: ${yaml(input)}
${key ? `  key: ${yaml(key)}\n` : ''}  expect: { status: ${call.status}${call.code ? `, code: ${call.code}` : ''} }
`
}

/** A constant, so that no tool takes generated imports for imports of this module. */
const IMPORT = 'import'

/** A test that makes the call and expects its result. */
export function testOf(call: Call, request: Sent, facts: Facts): string | null {
  const parts = partsOf(call, request, facts)
  if (!parts) return null
  const { endpoint, input, key } = parts
  const [group, name] = endpoint.split('.')
  const script = (value: unknown) =>
    JSON.stringify(value, null, 2).replaceAll(JSON.stringify(HIDDEN), 'process.env.SECRET').replaceAll('\n', '\n  ')
  return `${IMPORT} assert from 'node:assert/strict'
${IMPORT} { test } from 'node:test'
${IMPORT} { startServer } from 'voucherctl/testing'

test('${endpoint} responds with ${call.code ?? call.status}', async (t) => {
  // Pass a seed that has the records of the call.
  const server = await startServer()
  t.after(() => server.close())
  const result = await server.${facts?.caller === 'operator' ? `operator.${name}` : `client.${group}.${name}`}(${script(input)}${key ? `, { idempotencyKey: ${script(key)} }` : ''})
  assert.deepEqual([result.status, result.code], [${call.status}, ${call.code ? `'${call.code}'` : undefined}])
})
`
}
