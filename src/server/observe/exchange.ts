import { isUtf8 } from 'node:buffer'
import { type Endpoint, membersOf } from '../../contract/endpoint.js'
import { CAPTURED_BYTES_MAX, type Exchange, HIDDEN, SECRET_NAME } from '../../contract/platform/activity.js'
import { type Schema, Type } from '../../contract/schema.js'
import { parseJson } from '../../values/json.js'
import type { MadeAttempt } from '../delivery/attempt-log.js'
import { hasSecret, isWord, Masking } from '../masking.js'

/** Properties of a route that masking needs; routes outside the contract have no schemas. */
export type CapturedRoute = Pick<Endpoint, 'id' | 'path'> &
  Partial<Pick<Endpoint, 'params' | 'query' | 'body' | 'output'>>

/** References to the parts of a call, which `exchangeOf` converts for display. */
export interface CapturedCall {
  readonly route: CapturedRoute | undefined
  readonly method: string
  readonly url: string
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
  /** Bytes, or the parsed body of a decrypted request with the length of its plaintext; null for an unread body. */
  readonly body: Buffer | { readonly json: unknown; readonly length: number } | null
  /** Null if the client got no response. */
  readonly status: number | null
  readonly responseHeaders: Readonly<Record<string, unknown>>
  readonly responseBody: string | null
}

export type Captured = CapturedCall | MadeAttempt

/** Maximum length of a body to show. A longer one would be truncated, and hiding its secrets would take several ms. */
const SHOWN_LENGTH_MAX = 2 * CAPTURED_BYTES_MAX

/** Typical maximum bytes of the headers. */
const HEADERS_BYTES = 1_024

/** Approximate bytes of a captured exchange in memory. */
export function sizeOf(captured: Captured): number {
  const response = 'result' in captured ? captured.result.response?.body : captured.responseBody
  return (captured.body?.length ?? 0) + (response?.length ?? 0) + HEADERS_BYTES
}

/** An exchange without secrets (rules/operator.md#secrets-of-exchanges). @param nameOf names them; default HIDDEN */
export const exchangeOf = (it: Captured, nameOf?: (secret: string) => string): Exchange =>
  'result' in it ? ofDelivery(it, new Masking(nameOf)) : ofCall(it, new Masking(nameOf))

type Header = [name: string, value: string]
interface Part {
  readonly headers: Header[]
  /** Null if the body is empty or hidden. */
  readonly text: string | null
  readonly bytes: number
}

function ofCall(call: CapturedCall, masking: Masking): Exchange {
  const sent = showHeaders(pairsOf(call.rawHeaders), masking)
  const url = showUrl(call.url, call.route, masking)
  const body = showRequestBody(call.body, call.route, masking)
  const request = { headers: sent, ...body }
  if (call.status === null) return finish(masking, call.method, url, request, null)
  const headers = showHeaders(
    Object.entries(call.responseHeaders).map(([name, value]) => [name, String(value)]),
    masking,
  )
  const response = { status: call.status, headers, ...showResponseBody(call.responseBody, call.route, masking) }
  return finish(masking, call.method, url, request, response)
}

function ofDelivery({ url, headers, body, result, secrets }: MadeAttempt, masking: Masking): Exchange {
  const { origin, pathname, search } = new URL(url)
  for (const secret of [...secrets, pathname + search, pathname.slice(1)]) masking.remember(secret)
  const request = { headers: Object.entries(headers), text: textOf(body, masking), bytes: body.length }
  const { response: received, statusCode } = result
  const response = received && {
    status: statusCode,
    headers: showHeaders(received.headers, masking),
    text: textOf(received.body, masking),
    bytes: received.bodyBytes,
  }
  return finish(masking, 'POST', `${origin}/…`, request, response)
}

/** Removes from all parts the secrets that any part contained. */
function finish(
  masking: Masking,
  method: string,
  url: string,
  request: Part,
  response: (Part & { readonly status: number | null }) | null,
): Exchange {
  const part = ({ headers, text, bytes }: Part) => ({
    headers: headers.map(([name, value]): Header => [name, masking.finish(value) ?? HIDDEN]),
    body: base64Of(text === null ? null : masking.finish(text)),
    body_bytes: bytes,
  })
  return {
    request: { method, url: masking.finish(url) ?? HIDDEN, ...part(request) },
    response: response && { status: response.status, ...part(response) },
  }
}

const base64Of = (text: string | null) =>
  text === null || text === '' ? null : Buffer.from(text).subarray(0, CAPTURED_BYTES_MAX).toString('base64')

/** Masked text of a body without a schema; null if it is not UTF-8. */
const textOf = (bytes: Uint8Array, { hideForms }: Masking): string | null =>
  bytes.length <= SHOWN_LENGTH_MAX && isUtf8(bytes) ? hideForms(Buffer.from(bytes).toString()) : null

function pairsOf(raw: readonly string[]): Header[] {
  const pairs: Header[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([raw[i] as string, raw[i + 1] as string])
  return pairs
}

/** Headers whose values are shown: of HTTP and of the contract, except credentials. */
const shownHeaders = new Set(
  `accept accept-charset accept-encoding accept-language age allow cache-control connection content-encoding
  content-language content-length content-type date etag expect expires host idempotency-key idempotent-replayed
  if-match if-none-match keep-alive last-modified origin pragma ratelimit ratelimit-policy retry-after sec-fetch-dest
  sec-fetch-mode sec-fetch-site sec-fetch-user server te traceparent trailer transfer-encoding upgrade user-agent vary
  via www-authenticate x-forwarded-for x-forwarded-host x-forwarded-proto x-platform-signature-v2 x-platform-timestamp
  x-platform-update-id x-powered-by x-request-id`.split(/\s+/),
)

function showHeaders(headers: readonly (readonly [name: string, value: string])[], masking: Masking): Header[] {
  return headers.map(([name, value]) => {
    if (shownHeaders.has(name.toLowerCase())) return [name, masking.hideForms(value)]
    // The secret follows a cookie name or a scheme such as Bearer.
    const parts = value.split(/[\s;,=]+/)
    for (const part of parts) masking.remember(part)
    return [name, masking.hide(parts.reduce((longest, it) => (it.length > longest.length ? it : longest)))]
  })
}

function showUrl(url: string, route: CapturedRoute | undefined, masking: Masking): string {
  const [path = '', query] = url.split(/\?(.*)/s, 2)
  const pattern = route?.path.split('/') ?? []
  const segments = path.split('/')
  const isOfRoute = pattern.length === segments.length
  const shown = segments.map((segment, i) => {
    if (isOfRoute && pattern[i] === segment) return segment
    const parameter =
      isOfRoute && pattern[i]?.startsWith(':') ? membersOf(route?.params)[pattern[i].slice(1)] : undefined
    const isValid =
      segment === '' || isWord(segment) || /^v?\d+$/.test(segment) || /^[a-z]{2,5}_[\w-]{1,60}$/.test(segment)
    return isValid || matches(parameter, segment) ? masking.hideForms(segment) : masking.hide(segment)
  })
  if (query === undefined) return shown.join('/')
  const known = membersOf(route?.query)
  const members = [...new URLSearchParams(query)].map(([name, value]) => {
    const schema = Object.hasOwn(known, name) ? known[name] : undefined
    const shownName = schema !== undefined || isWord(name) ? masking.hideForms(name) : masking.hide(name)
    const shownValue = schema === undefined || hasSecret(schema) ? masking.hide(value) : masking.hideForms(value)
    return [shownName, shownValue].map((it) => (SECRET_NAME.test(it) ? it : encodeURIComponent(it))).join('=')
  })
  return `${shown.join('/')}?${members.join('&')}`
}

/** True if a schema restricts the form of a path parameter and the text has this form. */
function matches(parameter: Schema | undefined, text: string): boolean {
  const { pattern } = (parameter ?? {}) as { pattern?: string }
  return pattern !== undefined && new RegExp(pattern, 'u').test(text)
}

function showRequestBody(
  body: CapturedCall['body'],
  route: CapturedRoute | undefined,
  masking: Masking,
): Omit<Part, 'headers'> {
  if (body === null) return { text: null, bytes: 0 }
  if ('json' in body) {
    const text = body.json === undefined ? '' : JSON.stringify(body.json)
    return { text: showJson(body.json, route?.body, masking), bytes: Buffer.byteLength(text) }
  }
  // A text that cannot be parsed may contain a secret anywhere, even one of another call.
  const json = parse(body.toString())
  return { text: json === undefined ? null : showJson(json, route?.body, masking), bytes: body.length }
}

const failure = Type.Object({
  success: Type.Boolean(),
  code: Type.String(),
  message: Type.String(),
  retryable: Type.Boolean(),
  details: Type.Object({}, { additionalProperties: true }),
  requestId: Type.String(),
})

function showResponseBody(
  text: string | null,
  route: CapturedRoute | undefined,
  masking: Masking,
): Omit<Part, 'headers'> {
  if (text === null) return { text: null, bytes: 0 }
  const bytes = Buffer.byteLength(text)
  const json = parse(text) as { readonly success?: unknown } | undefined
  if (typeof json !== 'object' || json === null) return { text: null, bytes }
  const output = route?.output
  // Responses of the encrypted transport have no envelope.
  if (json.success === undefined) return { text: showJson(json, output, masking), bytes }
  if (json.success !== true || output === undefined) return { text: showJson(json, failure, masking), bytes }
  return { text: showJson(json, successOf(output), masking), bytes }
}

const successes = new WeakMap<Schema, Schema>()

/** Returns the schema of the success envelope around an output. */
function successOf(output: Schema): Schema {
  const made = successes.get(output) ?? Type.Object({ success: Type.Boolean(), data: output, requestId: Type.String() })
  successes.set(output, made)
  return made
}

function showJson(value: unknown, schema: Schema | undefined, masking: Masking): string {
  return value === undefined ? '' : JSON.stringify(masking.show(value, schema === undefined ? [] : [schema]))
}

/** Parses JSON; undefined for a text to hide: not JSON, too long, or nested too deep. */
const parse = (text: string): unknown => (text.length > SHOWN_LENGTH_MAX ? undefined : parseJson(text))
