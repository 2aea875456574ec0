import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import inject from 'light-my-request'
import { type Refusal, refuse } from '../contract/errors.js'
import * as contract from '../contract/secure.js'
import type { EnvelopeHead } from '../secure/envelope.js'
import { type InnerRequest, readInnerRequest } from '../secure/inner-request.js'
import { checkDispatchHead, openDispatch, readDispatch, sealAnswer } from '../secure/server-dispatch.js'
import { type ServerSession, createServerSession, describeServer } from '../secure/server-session.js'
import { MAX_ENVELOPE_BYTES, MEDIA_TYPE, type SecureRefusal } from '../secure/suite.js'
import type { Deps } from './deps.js'
import { failureEnvelope, sendFailure } from './envelope.js'
import { headerValues } from './headers.js'
import type { InnerCalls } from './inner-calls.js'

/** Binds the encrypted transport (interface.md F, decisions.md 10). Calls inside go through `app` like plain ones. */
export function bindSecureGateway(app: FastifyInstance, deps: Deps, innerCalls: InnerCalls): void {
  const { secure, clock, random, limits } = deps
  const disabled = (): Refusal | null => (secure.enabled ? null : refuse('SECURE_TRANSPORT_DISABLED'))

  app.route({
    method: 'GET',
    url: contract.bootstrap.path,
    config: { endpoint: contract.bootstrap },
    handler: async () => describeServer(secure.keys.current, secure.enabled, clock.now()),
  })

  app.route({
    method: 'POST',
    url: contract.session.path,
    config: { endpoint: contract.session },
    onRequest: async (request, reply) => {
      const off = disabled()
      if (off !== null) return sendFailure(request, reply, off)
      const verdict = await limits.take('secure_session', request.ip)
      if (verdict === null || verdict.allowed) return
      return sendFailure(request, reply, { ...refuse('RATE_LIMITED'), retryAfterSeconds: verdict.resetSeconds })
    },
    handler: async (request, reply) => {
      const now = clock.now()
      const creation = createServerSession(
        { body: request.body, origin: originOf(request) },
        {
          allowedOrigins: secure.allowedOrigins,
          brand: secure.brand,
          keyFor: (kid) => secure.keys.keyFor(kid, now),
          now,
          randomBytes: random,
        },
      )
      if (!creation.ok) return sendFailure(request, reply, creation)
      await secure.sessions.add(creation.session, now)
      return creation.answer
    },
  })

  // Its body is no JSON of ours: read whole, within a limit of its own.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_ENVELOPE_BYTES }, (_request, body, done) =>
      done(null, body),
    )
    scope.setErrorHandler((error: FastifyError, request, reply) => {
      if (error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') throw error
      return sendFailure(request, reply, refuse('SECURE_ENVELOPE_TOO_LARGE'))
    })
    scope.route({
      method: 'POST',
      url: contract.dispatch.path,
      config: { endpoint: contract.dispatch },
      onRequest: async (request, reply) => {
        const refusal = disabled() ?? checkDispatchHead(request.headers as Record<string, string | undefined>)
        if (refusal !== null && refusal !== undefined) return sendFailure(request, reply, refusal)
      },
      handler: (request, reply) => dispatch(request, reply),
    })
  })

  async function dispatch(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const opened = await open(request)
    if (!opened.ok) return sendFailure(request, reply, opened)
    const { head, session, plaintext } = opened
    const inner = readInnerRequest(plaintext)
    const answer = inner.ok
      ? await call(inner.request, session.origin, request)
      : refusedInside(refuse(inner.code, { part: inner.part }), request.id)
    return reply.type(MEDIA_TYPE).send(JSON.stringify(sealAnswer(head, session, answer, random)))
  }

  /** The order of decisions.md 10. A replay is marked only after the tag was verified. */
  async function open(
    request: FastifyRequest,
  ): Promise<{ ok: true; head: EnvelopeHead; session: ServerSession; plaintext: Uint8Array } | SecureRefusal> {
    const now = clock.now()
    const read = readDispatch(request.body instanceof Uint8Array ? request.body : new Uint8Array(), now)
    if (!read.ok) return read
    const { message } = read
    const session = await secure.sessions.find(message.sid)
    const opened = openDispatch(message, { session, origin: originOf(request), now })
    if (!opened.ok) return opened
    const use = await secure.sessions.use(message.sid, message.rid)
    if (use === 'replayed') return { ok: false, code: 'REQUEST_REPLAYED' }
    if (use === 'ended') return { ok: false, code: 'SECURE_SESSION_EXPIRED' }
    return { ok: true, head: message, session: opened.session, plaintext: opened.plaintext }
  }

  /** Nothing of the outer request goes in but the address it came from. */
  async function call({ method, path, query, headers, body }: InnerRequest, origin: string, outer: FastifyRequest) {
    const search = query.length === 0 ? '' : `?${new URLSearchParams(query as [string, string][])}`
    const response = await inject(
      (raw, answer) => {
        innerCalls.mark(raw as unknown as IncomingMessage, origin)
        app.routing(raw as never, answer as never)
      },
      {
        method,
        url: path + search,
        headers,
        remoteAddress: outer.ip,
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      },
    )
    return { status: response.statusCode, headers: textHeaders(response.headers), body: response.payload }
  }
}

/** The Origin header; two of them are one that no policy allows. */
function originOf({ raw }: FastifyRequest): string | undefined {
  const values = headerValues(raw, 'origin')
  return values.length === 0 ? undefined : values.join(', ')
}

function textHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}

function refusedInside(refusal: Refusal, requestId: string) {
  return {
    status: 400,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': requestId },
    body: JSON.stringify(failureEnvelope(refusal, requestId)),
  }
}
