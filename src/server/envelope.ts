import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FailureEnvelope } from '../contract/envelope.js'
import { type FailureCode, type Refusal, failures } from '../contract/errors.js'
import type { InnerMessage } from './inner-exchange.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a refused request: for the log and the metrics. */
    failureCode: FailureCode | null
    replayed: boolean
    applicationId: string | null
    /** Of a request that came out of an envelope; null for a plain one. */
    inner: InnerMessage | null
  }
}

export function failureEnvelope(refusal: Refusal, requestId: string): FailureEnvelope {
  const { message, retryable } = failures[refusal.code]
  return {
    success: false,
    code: refusal.code,
    message,
    retryable,
    ...(refusal.details === undefined ? {} : { details: { ...refusal.details } }),
    requestId,
  }
}

/** Answers a refusal of a body, of which there may be more to come: the connection ends. */
export function sendBodyFailure(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  return sendFailure(request, reply.header('connection', 'close'), refusal)
}

/** Answers a refusal from the failure table. */
export function sendFailure(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { code, details } = refusal
  request.failureCode = code
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', String(refusal.retryAfterSeconds))
  else if (code === 'SERVICE_UNAVAILABLE') reply.header('retry-after', '1')
  const { status } = failures[code]
  if (status === 426) {
    // Ours replaces the header by which Node says that it closes the connection.
    const connection = reply.raw.shouldKeepAlive ? 'Upgrade' : 'Upgrade, close'
    reply.header('upgrade', 'platform-secure/1').header('connection', connection)
  }
  if (status === 401)
    reply.header('www-authenticate', code === 'TOKEN_MISSING' ? 'Bearer' : 'Bearer error="invalid_token"')
  if (code === 'INSUFFICIENT_SCOPE') {
    reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${String(details?.required_scope)}"`)
  }
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(failureEnvelope(refusal, request.id)))
}
