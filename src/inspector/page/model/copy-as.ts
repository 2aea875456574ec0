import { callHeaders, JSON_TYPE } from '../../../contract/call-request.js'
import { apiCommand, curlOf as curlText } from '../../../contract/call-text.js'
import type { CapturedExchange, RequestLogEntry } from '../../../contract/platform/activity.js'
import { CAPTURED_BYTES_MAX, HIDDEN } from '../../../contract/platform/captured.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { hideForms, splitAt } from '../../../contract/secrets.js'
import { readTarget } from '../../../values/path-part.js'
import { bytesOf, textOf } from './bytes.js'
import { base64Of } from './edited-bytes.js'
import { objectIn } from './json-text.js'

// Texts that repeat a call elsewhere. They contain no secret, because the server has replaced secrets with HIDDEN.

/** What the page knows about the endpoint of a call; undefined for a call of no route. */
type Facts = Pick<ReferenceEndpoint, 'caller' | 'members'> | undefined

export type Sent = CapturedExchange['request']

/** The request of a call that was not made yet, without secrets. @param body is sent as JSON */
export function requestOf(method: string, url: string, body?: object, idempotencyKey?: string): Sent {
  const bytes = new TextEncoder().encode(body === undefined ? '' : hideForms(JSON.stringify(body)))
  const headers = callHeaders({ authorization: HIDDEN, media: body && JSON_TYPE, idempotencyKey })
  const content = body === undefined ? null : base64Of(bytes)
  return { method, url: hideForms(url), headers: Object.entries(headers), body: content, body_bytes: bytes.length }
}

/** True if the whole request was captured, so that it can be repeated. */
export const isWhole = ({ body, body_bytes }: Sent): boolean =>
  body_bytes <= CAPTURED_BYTES_MAX && (body !== null || body_bytes === 0)

/** Headers that curl sets itself, that belong to one connection, or that hold the credential. */
const ownHeaders = /^(authorization|host|content-length|connection|accept-encoding|transfer-encoding|user-agent)$/i

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
  const call = {
    method,
    url: hide(new URL(baseUrl).origin + path),
    headers: headers.filter(([name]) => !ownHeaders.test(name)).map(([name, value]) => [name, hide(value)] as const),
    caller: headers.some(([name]) => /^authorization$/i.test(name)) ? (endpoint?.caller ?? 'token') : 'none',
    ...(isBinary ? { file: '-' } : text === undefined ? {} : { body: hide(text) }),
  } as const
  const command = curlText(call, 'i')
  return isBinary ? `printf %s ${body} | base64 -d | ${command}` : command
}

const keyOf = ({ headers }: Sent) => headers.find(([it]) => /^idempotency-key$/i.test(it))?.[1]

const hide = (text: string) => splitAt(text, HIDDEN, 'SECRET')

/** Formats a voucherctl command that repeats the request; null for a body that no shell argument can hold. */
export function commandOf(request: Sent): string | null {
  const text = request.body === null ? undefined : textOf(bytesOf(request.body))
  if (text === null || text?.includes('\0')) return null
  const key = keyOf(request)
  const body = text ? hide(text) : undefined
  return apiCommand({ method: request.method, path: hide(pathOf(request)), key: key && hide(key), body })
}

/** A call of the log, or one that was not made yet, with the result that is expected of it. */
export type Call = Pick<RequestLogEntry, 'endpoint' | 'method' | 'path' | 'status' | 'code'> & {
  /** Absent for a call that was not made yet. */
  readonly request_id?: string
}

/** Flat input of the call: members of path, query and body; null if the body is not a JSON object. */
function inputOf({ path }: Call, request: Sent, endpoint: Facts): Record<string, unknown> | null {
  const { body } = request
  const { params, query } = readTarget(path ?? '', request.url)
  const input: Record<string, unknown> = params
  const isInteger = (name: string) =>
    endpoint?.members.some((it) => it.in === 'query' && it.name === name && it.type === 'integer')
  for (const [name, value] of query) input[name] = isInteger(name) ? Number(value) : value
  if (body === null) return input
  const members = objectIn(textOf(bytesOf(body)) ?? '')
  return members && { ...input, ...members }
}

/** Formats JSON for a scenario; doubles a `$` before a brace, which would begin a variable. */
const yaml = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replaceAll('${', () => '$${')
    .replaceAll(HIDDEN, '${env.SECRET}')
    .replaceAll('\n', '\n    ')

/** A step of a scenario that makes the call and expects its result; null if no step can. */
export function stepOf(call: Call, request: Sent, facts: Facts): string | null {
  const input = inputOf(call, request, facts)
  if (input === null || call.endpoint === null) return null
  const key = keyOf(request)
  return `- call: ${call.endpoint}
  with: ${yaml(input)}
${key ? `  key: ${yaml(key)}\n` : ''}  expect: { status: ${call.status}${call.code ? `, code: ${call.code}` : ''} }
`
}
