import type { IncomingMessage } from 'node:http'
import { type FailureCode, type Refusal, refuse } from '../../contract/errors.js'
import type { HttpResponse } from '../../secure/http.js'
import type { Unasked } from './connections.js'
import { failureAnswer } from './envelope.js'

/** Where HTTP ends and the routes begin: targets in their one form, and the envelope for what Node would answer itself. */

/** The path and query of a target, as routes and Idempotency-Keys see it. */
export function targetOf(url: string): string {
  return decodable(originForm(url))
}

/** An absolute target names the same resource as its path: to the routes, and to an Idempotency-Key. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/** A malformed percent escape is a literal %, so that a malformed id is an unknown one. */
function decodable(url: string): string {
  if (!url.includes('%')) return url
  try {
    decodeURIComponent(url)
    return url
  } catch {
    return url.replaceAll('%', '%25')
  }
}

const NO_HOST = { pointer: 'Host', code: 'required', message: 'is required' }

/** HTTP/1.1 requires the header Host (RFC 9112, 3.2); left to itself, Node would refuse with an empty answer. */
export function refuseWithoutHost(request: IncomingMessage): Refusal<'VALIDATION_FAILED'> | undefined {
  if (request.httpVersionMinor === 0 || request.headers.host !== undefined) return undefined
  return refuse('VALIDATION_FAILED', { errors: [NO_HOST] })
}

const OF_NODE: Record<string, FailureCode> = {
  HPE_HEADER_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'INVALID_JSON',
}

/** The envelope for bytes that are no HTTP request, and for a tunnel, which is no route. */
export function answerOutsideHttp(error: NodeJS.ErrnoException | 'CONNECT', requestId: string): Unasked {
  const code = error === 'CONNECT' ? 'ROUTE_NOT_FOUND' : (OF_NODE[error.code ?? ''] ?? 'VALIDATION_FAILED')
  const answer = failureAnswer(refuse(code), requestId, false)
  return { ...answer, headers: { ...headersOf(answer, requestId), connection: 'close' } }
}

/** All headers of an answer that no route gives. */
export function headersOf({ headers, body }: HttpResponse, requestId: string): Record<string, string | number> {
  return {
    'x-request-id': requestId,
    'cache-control': 'no-store',
    ...headers,
    'content-length': Buffer.byteLength(body),
  }
}
