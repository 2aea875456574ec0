import type { FailureEnvelope } from '../../contract/envelope.js'
import { type FailureCode, failures, type Refusal, refuse } from '../../contract/errors.js'
import type { HttpResponse } from '../../secure/http.js'
import type { RawResponse } from './http-server.js'

/** The response of a refusal: status, headers and envelope, from the failure table. */
export function failureResponse(refusal: Refusal, requestId: string, keepAlive: boolean): HttpResponse {
  const { code, details, planted } = refusal
  const { status, message, retryable } = planted ?? failures[code]
  const envelope: FailureEnvelope = {
    success: false,
    code,
    message: refusal.message ?? message,
    retryable,
    ...(details === undefined ? {} : { details: { ...details } }),
    requestId,
  }
  return {
    status,
    headers: { ...failureHeaders(refusal, status, keepAlive), 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(envelope),
  }
}

function failureHeaders(
  { code, details, retryAfterSeconds, planted }: Refusal,
  status: number,
  keepAlive: boolean,
): Record<string, string> {
  const headers: Record<string, string> = {}
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  else if (code === 'SERVICE_UNAVAILABLE' && planted === undefined) headers['retry-after'] = '1'
  if (status === 426) {
    headers.upgrade = 'platform-secure/1'
    // Include `close`, because this header replaces the `Connection: close` that Node would write.
    headers.connection = keepAlive ? 'Upgrade' : 'Upgrade, close'
  }
  if (status === 401) {
    headers['www-authenticate'] = code === 'TOKEN_MISSING' ? 'Bearer' : 'Bearer error="invalid_token"'
  }
  if (code === 'INSUFFICIENT_SCOPE') {
    headers['www-authenticate'] = `Bearer error="insufficient_scope", scope="${String(details?.required_scope)}"`
  }
  return headers
}

/** Failure codes by the code of an error from Node's HTTP parser or server. */
const CODES_OF_NODE_ERRORS: Record<string, FailureCode> = {
  HPE_HEADER_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'INVALID_JSON',
}

/** Refuses a malformed or incomplete message, or a tunnel; the connection closes. */
export function refuseMessage(error: NodeJS.ErrnoException | 'CONNECT', requestId: string): RawResponse {
  const code = error === 'CONNECT' ? 'ROUTE_NOT_FOUND' : (CODES_OF_NODE_ERRORS[error.code ?? ''] ?? 'VALIDATION_FAILED')
  const response = failureResponse(refuse(code), requestId, false)
  return { ...response, headers: { ...headersOf(response, requestId), connection: 'close' } }
}

/** All headers of a response written without a route. */
export function headersOf({ headers, body }: HttpResponse, requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  }
}
