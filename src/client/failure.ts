import { type ResponseFailure, readFailure } from './response-failure.js'
import type { CallFailure } from './result.js'
import type { PreparedCall, UnsendableCall } from './settings.js'
import type { SecureFault, TransportError, TransportResponse } from './transport.js'

/** Minimum length of a secret that is removed: a shorter one may equal an ordinary word of the response. */
const SHORTEST_SECRET = 8

const noResponse = { ok: false, status: 0, details: {}, requestId: null, headers: {} } as const

/** Converts the response of a failed call to a failure. */
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

/** Converts a transport error (there is no complete response) to the failure of a call. */
export function failureOfTransport(
  error: TransportError,
  prepared: Pick<PreparedCall, 'idempotencyKey' | 'mutates'>,
): CallFailure {
  const { kind, message, maybeProcessed, secure } = error
  const outcomeUnknown = prepared.mutates && maybeProcessed
  if (secure !== undefined) return { ...insecure(message, secure), outcomeUnknown, ...keyOf(prepared) }
  const code = kind === 'timeout' ? 'TIMEOUT' : kind === 'aborted' ? 'ABORTED' : 'NETWORK_ERROR'
  return {
    ...noResponse,
    code,
    message,
    retryable: kind !== 'aborted',
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
function withoutToken(response: TransportResponse, token: string | undefined): TransportResponse {
  if (token === undefined || token.length < SHORTEST_SECRET) return response
  const strip = (text: string) => text.replaceAll(token, '[credential]')
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, strip(value)]))
  return { ...response, headers, body: strip(response.body) }
}

/** Converts the reason why a call's input cannot be sent to a failure. */
export function failureOfInput({ message, details }: UnsendableCall): CallFailure {
  return { ...noResponse, code: 'INVALID_INPUT', message, retryable: false, details, outcomeUnknown: false }
}
