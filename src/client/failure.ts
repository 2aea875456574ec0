import type { UnsendableCall } from '../contract/call-request.js'
import { failures, isFailureCode } from '../contract/errors.js'
import { asMembers } from '../values/json.js'
import { asText, type Expected, isSuccess, parseBody, requestIdOf } from './response.js'
import type { CallFailure } from './result.js'
import type { PreparedCall } from './settings.js'
import type { SecureFault, TransportError, TransportResponse } from './transport.js'

/** Minimum length of a secret to remove: a shorter text may equal an ordinary word of the response. */
const SHORTEST_SECRET = 8

const noResponse = { ok: false, status: 0, details: {}, requestId: null, headers: {} } as const

export function failureOfResponse(raw: TransportResponse, prepared: PreparedCall): CallFailure {
  const { token, mutates, expected } = prepared
  const response = withoutToken(raw, token)
  const failure = readFailure(response, expected)
  const outcomeUnknown = mutates && (response.maybeProcessed === true || isOutcomeUnknown(response, failure))
  return { ...failure, status: response.status, outcomeUnknown, ...keyOf(prepared), headers: response.headers }
}

/** True if the server may have completed the call: after a 5xx other than 503, or an invalid one other than 429. */
function isOutcomeUnknown({ status }: TransportResponse, { code }: ResponseFailure): boolean {
  if (status === 429 || status === 503) return false
  return status >= 500 || code === 'INVALID_RESPONSE'
}

const codes: Record<string, string> = { timeout: 'TIMEOUT', aborted: 'ABORTED', untrusted: 'CERTIFICATE_UNTRUSTED' }

/** Converts a transport error (there is no complete response) to the failure of a call. */
export function failureOfTransport(
  error: TransportError,
  prepared: Pick<PreparedCall, 'idempotencyKey' | 'mutates'>,
): CallFailure {
  const { kind, message, maybeProcessed, secure } = error
  const outcomeUnknown = prepared.mutates && maybeProcessed
  if (secure !== undefined) return { ...insecure(message, secure), outcomeUnknown, ...keyOf(prepared) }
  const code = codes[kind] ?? 'NETWORK_ERROR'
  return {
    ...noResponse,
    code,
    message,
    retryable: kind !== 'aborted' && kind !== 'untrusted',
    outcomeUnknown,
    ...keyOf(prepared),
  }
}

const keyOf = ({ idempotencyKey }: Pick<PreparedCall, 'idempotencyKey'>) =>
  idempotencyKey === undefined ? {} : { idempotencyKey }

/** A request that the encrypted transport cannot carry becomes INVALID_INPUT; other failures keep their code. */
function insecure(message: string, { code, phase, status, headers, retryable, part }: SecureFault) {
  const isInput = phase === 'local' && inputCodes.includes(code)
  const details = { ...(isInput ? { reason: code } : { phase }), ...(part === undefined ? {} : { part }) }
  const requestId = headers['x-request-id'] ?? null
  return {
    ...noResponse,
    code: isInput ? 'INVALID_INPUT' : code,
    message,
    status,
    retryable,
    details,
    requestId,
    headers,
  }
}

const inputCodes: readonly string[] = ['SECURE_REQUEST_INVALID', 'SECURE_ENVELOPE_TOO_LARGE']

/** Removes the credential of the call, which servers and proxies may repeat in an error response. */
export function withoutToken(response: TransportResponse, token: string | undefined): TransportResponse {
  if (token === undefined || token.length < SHORTEST_SECRET) return response
  const strip = (text: string) => text.replaceAll(token, '[credential]')
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, strip(value)]))
  return { ...response, headers, body: strip(response.body) }
}

/** Converts an error in a call's input to a failure; nothing was sent. */
export function failureOfInput({ message, details }: UnsendableCall): CallFailure {
  return { ...noResponse, code: 'INVALID_INPUT', message, retryable: false, details, outcomeUnknown: false }
}

/** The failure that a response reports. Each member has a fallback, because proxies send other forms of responses. */
export type ResponseFailure = Pick<CallFailure, 'ok' | 'code' | 'message' | 'retryable' | 'details' | 'requestId'>

const EXCERPT_LENGTH = 200

/** Start of the message about a response that does not come from a voucher service. */
export const NOT_A_RESPONSE = 'Not a response of a voucher service'

/**
 * Converts a response that is not a success to a failure. A refusal has the envelope with `success: false`. Any other
 * response does not come from a voucher service, but for example from a proxy or the login page of a network.
 */
export function readFailure(response: TransportResponse, expected: Expected = {}): ResponseFailure {
  const { status, headers, body } = response
  const json = parseBody(body)
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
