import { failures, isFailureCode } from '../contract/errors.js'
import { asMembers, type Members, parseJson } from '../secure/json.js'
import type { CallFailure, CallSuccess } from './result.js'
import type { TransportResponse } from './transport.js'

/** The failure that a response reports. Each member has a fallback, because proxies send other forms of responses. */
export type ResponseFailure = Pick<CallFailure, 'ok' | 'code' | 'message' | 'retryable' | 'details' | 'requestId'>

type Headers = Readonly<Record<string, string>>

const EXCERPT_LENGTH = 200

/** Start of the message about a response that does not come from a voucher service. */
export const NOT_A_RESPONSE = 'Not a response of a voucher service'

/** Conditions under which a response counts as the success of a call. */
export interface Expected {
  /** True for endpoints that respond without the envelope: any JSON counts as a success. */
  readonly bare?: boolean
  /** Explains why `data` cannot be the result of the call; undefined if it can be. */
  mismatchOf?(data: unknown): string | undefined
}

/**
 * Reads a response. A success has a 2xx status, the envelope (`success: true` with `data`) and the required members of
 * the call. A refusal has the envelope with `success: false`. Any other response does not come from a voucher
 * service, but for example from a proxy or the login page of a network (DECISIONS.md#success).
 */
export function readResponse<Data>(
  response: TransportResponse,
  expected: Expected = {},
): CallSuccess<Data> | ResponseFailure {
  const { status, headers, body } = response
  const json = parse(body)
  const members = asMembers(json)
  const success = isSuccess(response) ? dataOf(json, members, expected) : undefined
  if (success === undefined || expected.mismatchOf?.(success.data) !== undefined) return readFailure(response, expected)
  return {
    ok: true,
    data: success.data as Data,
    status,
    requestId: requestIdOf(members, headers),
    replayed: headers['idempotent-replayed']?.toLowerCase() === 'true',
    headers,
  }
}

const isSuccess = ({ status }: TransportResponse) => status >= 200 && status <= 299

/** The `data` of a successful response; undefined if the body is not a success. */
function dataOf(
  json: unknown,
  members: Members | undefined,
  { bare = false }: Expected,
): { data: unknown } | undefined {
  if (members?.success === true && Object.hasOwn(members, 'data')) return { data: members.data }
  return bare && json !== undefined && typeof members?.success !== 'boolean' ? { data: json } : undefined
}

/** Converts a response that is not a success to a failure. */
export function readFailure(response: TransportResponse, expected: Expected = {}): ResponseFailure {
  const { status, headers, body } = response
  const json = parse(body)
  const members = asMembers(json)
  const requestId = requestIdOf(members, headers)
  if (members?.success !== false) {
    const message = `${NOT_A_RESPONSE} (status ${status}): ${describe(response, json, expected)}`
    const retryable = isRetryableStatus(status)
    return { ok: false, code: 'INVALID_RESPONSE', message, retryable, details: {}, requestId }
  }
  // For known failure codes, the failure table decides whether they are retryable; unknown codes stay unchanged.
  const code = asText(members.code)
  return {
    ok: false,
    code: code ?? (isSuccess(response) ? 'INVALID_RESPONSE' : `HTTP_${status}`),
    message: asText(members.message) ?? `The server refused with status ${status} and without an explanation`,
    retryable: isRetryable(code, members.retryable, status),
    details: asMembers(members.details) ?? {},
    requestId,
  }
}

function isRetryable(code: string | undefined, sent: unknown, status: number): boolean {
  if (code !== undefined && isFailureCode(code)) return failures[code].retryable
  return typeof sent === 'boolean' ? sent : isRetryableStatus(status)
}

const isRetryableStatus = (status: number) => status === 429 || status === 503

function requestIdOf(members: Members | undefined, headers: Headers): string | null {
  return asText(members?.requestId) ?? headers['x-request-id'] ?? null
}

/** Maximum nesting depth: JSON.parse accepts any depth, but JSON.stringify overflows the stack at 10,000 levels. */
export const RESPONSE_DEPTH_MAX = 500

/** Parses a body as JSON; undefined if the body is not JSON, for example empty. */
const parse = (body: string): unknown => parseJson(body, RESPONSE_DEPTH_MAX)

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function describe(response: TransportResponse, json: unknown, { mismatchOf }: Expected): string {
  const { status, headers, body } = response
  if (status >= 300 && status < 400 && headers.location !== undefined) {
    return `a redirect to ${excerpt(headers.location)}; redirects are not followed`
  }
  if (body.trim() === '') return 'it is empty'
  if (json === undefined) return excerpt(body)
  const members = asMembers(json)
  if (!isSuccess(response)) return excerpt(asText(members?.message) ?? body)
  // Never quote the body of a success: it may contain redeem codes and tokens.
  if (members === undefined) return 'JSON, but no object'
  if (members.success !== true)
    return `JSON without the envelope (members: ${excerpt(Object.keys(members).join(', ')) || 'none'})`
  return Object.hasOwn(members, 'data') ? (mismatchOf?.(members.data) ?? 'its data do not fit') : 'data is missing'
}

/** Shortens a text to one line without control characters and bidi overrides, safe for a terminal. */
function excerpt(text: string): string {
  const start = text.slice(0, 4 * EXCERPT_LENGTH).replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
  const symbols = [...start.trim()]
  return symbols.length > EXCERPT_LENGTH ? `${symbols.slice(0, EXCERPT_LENGTH).join('')}…` : symbols.join('')
}
