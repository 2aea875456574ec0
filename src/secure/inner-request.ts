import { asMembers, decodeUtf8, parseJson } from '../values/json.js'
import type { HttpRequest } from './http.js'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type InnerMethod = (typeof methods)[number]

/** A business request, decrypted and validated. */
export interface InnerRequest {
  readonly method: InnerMethod
  readonly path: string
  /** Name and value of each member, not URL-encoded. An array has one entry with the same name per element. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** Names in lower case; only the headers that the transport forwards. */
  readonly headers: Readonly<Record<string, string>>
  /** Absent for a request without a body. */
  readonly body?: unknown
}

/** The part of an inner request that breaks a rule. */
export type InnerPart = 'json' | 'members' | 'method' | 'path' | 'query' | 'headers' | 'body'

export interface InnerRefusal {
  readonly ok: false
  readonly code: 'SECURE_REQUEST_INVALID'
  readonly part: InnerPart
}

const members = new Set(['method', 'path', 'query', 'headers', 'body'])

const MAX_PATH_LENGTH = 512
const PATH = /^\/api\/v1(?:\/[A-Za-z0-9._~-]+)+$/
const BARRED_SEGMENT = /\/(?:\.|\.\.|secure)(?:\/|$)/i

/** Inner headers that the server forwards. It refuses the headers in `refused` and drops all others. */
const passing = new Set([
  'authorization',
  'content-type',
  'accept',
  'idempotency-key',
  'accept-language',
  'traceparent',
])
const hopByHop = ['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te']
const refused = new Set([
  ...hopByHop,
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'cookie',
  'origin',
  'forwarded',
])

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// The tab is the only control character allowed: a line break would start another header.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * True for a logical path: `/api/v1/` and segments of unreserved characters, none of them `.`, `..` or `secure` in any
 * case. A URL parser would normalise the path, so this matches text (rules/encryption.md#inner-requests).
 */
export function isLogicalPath(path: string): boolean {
  return path.length <= MAX_PATH_LENGTH && PATH.test(path) && !BARRED_SEGMENT.test(path)
}

type InnerReading = { readonly ok: true; readonly request: InnerRequest } | InnerRefusal

/** Parses and validates a decrypted request; absent query, headers and body count as empty. */
export function readInnerRequest(plaintext: Uint8Array): InnerReading {
  const text = decodeUtf8(plaintext)
  return text === undefined ? invalid('json') : readInnerText(text)
}

/** Parses and validates a decrypted request whose plaintext is already decoded from UTF-8. */
export function readInnerText(text: string): InnerReading {
  const value = asMembers(parseJson(text))
  if (value === undefined) return invalid('json')
  if (!Object.keys(value).every((name) => members.has(name))) return invalid('members')
  const { method, path, body = null } = value
  if (!isMethod(method)) return invalid('method')
  if (typeof path !== 'string' || !isLogicalPath(path)) return invalid('path')
  const query = readQuery(value.query ?? {})
  if (query === undefined) return invalid('query')
  const headers = readInnerHeaders(value.headers ?? {})
  if (headers === undefined) return invalid('headers')
  if (body !== null && method === 'GET') return invalid('body')
  const request = body === null ? { method, path, query, headers } : { method, path, query, headers, body }
  return { ok: true, request }
}

/** Reads the query of an inner request: strings, numbers, booleans (as their JSON text), and arrays of such values. */
function readQuery(value: unknown): (readonly [string, string])[] | undefined {
  const query = asMembers(value)
  if (query === undefined) return undefined
  const pairs: (readonly [string, string])[] = []
  for (const [name, member] of Object.entries(query)) {
    for (const item of Array.isArray(member) ? member : [member]) {
      const isScalar = typeof item === 'string' || typeof item === 'boolean' || Number.isFinite(item)
      if (!isScalar) return undefined
      pairs.push([name, String(item)])
    }
  }
  return pairs
}

/** Returns the headers to forward, or undefined when one is malformed, refused or a duplicate. */
function readInnerHeaders(value: unknown): Record<string, string> | undefined {
  const given = asMembers(value)
  if (given === undefined) return undefined
  const names = Object.keys(given)
  const headers: Record<string, string> = {}
  let isLower = true
  for (const name of names) {
    const text = given[name]
    const lower = name.toLowerCase()
    if (!HEADER_NAME.test(name) || typeof text !== 'string' || !HEADER_VALUE.test(text)) return undefined
    if (passing.has(lower)) headers[lower] = text
    else if (refused.has(lower)) return undefined
    isLower &&= lower === name
  }
  return isLower || new Set(names.map((name) => name.toLowerCase())).size === names.length ? headers : undefined
}

function isMethod(value: unknown): value is InnerMethod {
  return methods.includes(value as InnerMethod)
}

function invalid(part: InnerPart): InnerRefusal {
  return { ok: false, code: 'SECURE_REQUEST_INVALID', part }
}

/**
 * Encodes the plaintext of a business request. Applies the rules of the server (rules/encryption.md#inner-requests), so
 * that a request that it would refuse fails before it is sent. Embeds the JSON text of the body unchanged.
 */
export function encodeInnerRequest(
  request: HttpRequest,
): { readonly ok: true; readonly plaintext: Uint8Array } | InnerRefusal {
  const { method, body = '' } = request
  const mark = request.path.indexOf('?')
  const path = mark === -1 ? request.path : request.path.slice(0, mark)
  const headers = readInnerHeaders(request.headers)
  if (!isMethod(method)) return invalid('method')
  if (!isLogicalPath(path)) return invalid('path')
  if (headers === undefined) return invalid('headers')
  if (body !== '' && (method === 'GET' || parseJson(body) === undefined)) return invalid('body')
  const query = queryOf(mark === -1 ? '' : request.path.slice(mark + 1))
  const start = JSON.stringify({ method, path, query, headers })
  return { ok: true, plaintext: Buffer.from(`${start.slice(0, -1)},"body":${body === '' ? 'null' : body}}`) }
}

/** Parses a query string to members; a repeated name becomes an array. */
function queryOf(text: string): Record<string, string | string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) values.set(name, [...(values.get(name) ?? []), value])
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? (all[0] as string) : all]))
}
