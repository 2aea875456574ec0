import { failures, isFailureCode } from '../contract/errors.js'
import { parseJson } from '../secure/json.js'
import type { CallFailure, CallSuccess } from './call.js'
import type { TransportResponse } from './transport.js'

/** What an answer says about a failure; every member has a fallback, since any server or proxy may have sent it. */
export type AnsweredFailure = Pick<CallFailure, 'ok' | 'code' | 'message' | 'retryable' | 'details' | 'requestId'>

type Headers = Readonly<Record<string, string>>
type Members = Readonly<Record<string, unknown>>

const EXCERPT_LENGTH = 200

/**
 * Reads an answer. A success has a 2xx status and a JSON body that does not say `success: false`; `data` is unwrapped
 * only where a boolean `success` is there, else the body itself is the data (decisions.md 1, envelope).
 */
export function readAnswer<Data>(response: TransportResponse): CallSuccess<Data> | AnsweredFailure {
  const { status, headers, body } = response
  const json = parse(body)
  const members = asMembers(json)
  if (status < 200 || status > 299 || json === undefined || members?.success === false) {
    return failureFrom(response, members)
  }
  const wrapped = typeof members?.success === 'boolean' && Object.hasOwn(members, 'data')
  return {
    ok: true,
    data: (wrapped ? members.data : json) as Data,
    status,
    requestId: requestIdOf(members, headers),
    replayed: headers['idempotent-replayed']?.toLowerCase() === 'true',
    headers,
  }
}

/** What an answer with a failing status says. */
export function readFailure(response: TransportResponse): AnsweredFailure {
  return failureFrom(response, asMembers(parse(response.body)))
}

/** The table decides whether its codes are retryable; codes that it does not know are kept as they are. */
function failureFrom({ status, headers, body }: TransportResponse, members: Members | undefined): AnsweredFailure {
  const code = asText(members?.code)
  return {
    ok: false,
    code: code ?? (status >= 200 && status < 300 ? 'INVALID_RESPONSE' : `HTTP_${status}`),
    message: asText(members?.message) ?? describe(status, headers, code === undefined ? body : ''),
    retryable: isRetryable(code, members?.retryable, status),
    details: asMembers(members?.details) ?? {},
    requestId: requestIdOf(members, headers),
  }
}

function isRetryable(code: string | undefined, said: unknown, status: number): boolean {
  if (code !== undefined && isFailureCode(code)) return failures[code].retryable
  return typeof said === 'boolean' ? said : status === 429 || status === 503
}

function requestIdOf(members: Members | undefined, headers: Headers): string | null {
  return asText(members?.requestId) ?? headers['x-request-id'] ?? null
}

/** JSON.parse takes any depth, but what walks or writes the value afterwards does not: 10,000 levels end JSON.stringify. */
export const ANSWER_DEPTH_MAX = 500

/** Undefined when it is not JSON, as an empty body: an endpoint always answers a document, and a proxy may drop it. */
const parse = (body: string): unknown => parseJson(body, ANSWER_DEPTH_MAX)

function asMembers(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function describe(status: number, headers: Headers, body: string): string {
  if (status >= 300 && status < 400 && headers.location !== undefined) {
    return `The server answered ${status}, a redirect to ${excerpt(headers.location)}; redirects are not followed`
  }
  const text = excerpt(body)
  return text === '' ? `The server answered ${status} without an explanation` : `The server answered ${status}: ${text}`
}

/** One short line without control characters and bidi overrides, safe for a terminal. */
function excerpt(text: string): string {
  const start = text.slice(0, 4 * EXCERPT_LENGTH).replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
  const symbols = [...start.trim()]
  return symbols.length > EXCERPT_LENGTH ? `${symbols.slice(0, EXCERPT_LENGTH).join('')}…` : symbols.join('')
}
