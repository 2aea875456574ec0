import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type FailureCode, failures, refuse } from '../contract/errors.js'
import { failureEnvelope } from './envelope.js'

/** Where HTTP ends and the routes begin: targets in their one form, and the envelope for what Node would answer itself. */

/** The path and query of a target, as routes and Idempotency-Keys see it. */
export function targetOf(url: string): string {
  return decodable(originForm(url))
}

/** A tunnel is no route, and an expectation beyond 100-continue may be passed over (RFC 9110, 10.1.1). */
export function answerInsteadOfNode(server: Server, newRequestId: () => string): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    endWith(socket, 'ROUTE_NOT_FOUND', newRequestId()),
  )
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  )
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

const OF_NODE: Record<string, FailureCode> = {
  HPE_HEADER_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'INVALID_JSON',
}

/** Bytes that are no HTTP request: answered with the envelope, then closed. */
export function answerNonHttp(error: NodeJS.ErrnoException, socket: Duplex, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else endWith(socket, OF_NODE[error.code ?? ''] ?? 'VALIDATION_FAILED', requestId)
}

function endWith(socket: Duplex, code: FailureCode, requestId: string): void {
  socket.on('error', () => socket.destroy())
  const body = JSON.stringify(failureEnvelope(refuse(code), requestId))
  socket.end(
    `HTTP/1.1 ${failures[code].status} Refused\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  )
}
