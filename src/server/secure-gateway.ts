import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../contract/errors.js'
import * as contract from '../contract/secure.js'
import { encodeEnvelope } from '../secure/envelope.js'
import { readInnerText } from '../secure/inner-request.js'
import { asMembers, decodeUtf8 } from '../secure/json.js'
import { checkDispatchHead, openDispatch, readDispatch, sealAnswer } from '../secure/server-dispatch.js'
import { createServerSession, describeServer } from '../secure/server-session.js'
import { hasEnded } from '../store/sessions.js'
import { MAX_ENVELOPE_BYTES, MEDIA_TYPE } from '../secure/suite.js'
import type { Deps } from './deps.js'
import { failureEnvelope, sendBodyFailure, sendFailure } from './envelope.js'
import { invalid } from './handler.js'
import { headerValues, isPlainUtf8 } from './headers.js'
import { InnerMessage, exchangeInside } from './inner-exchange.js'
import { readBytes, readJson } from './read-body.js'
import { ISSUES_MAX, unknownMember } from './unknown-member.js'

/** Of a session call; `publicKey` is the other name of the first (decisions.md 10, session). */
const SESSION_MEMBERS = ['clientPublicKey', 'publicKey', 'kid', 'v', 'suite']

/** Binds the encrypted transport (interface.md F, decisions.md 10). Calls inside go through `app` like plain ones. */
export function bindSecureGateway(app: FastifyInstance, deps: Deps): void {
  const { secure, clock, random, limits } = deps
  const disabled = (): Refusal | null => (secure.enabled ? null : refuse('SECURE_TRANSPORT_DISABLED'))

  app.route({
    method: 'GET',
    url: contract.bootstrap.path,
    config: { endpoint: contract.bootstrap },
    handler: async (request, reply) => {
      const refusal = refuseUnknown(request.query, [])
      if (refusal !== null) return sendFailure(request, reply, refusal)
      return describeServer(secure.keys.current, secure.enabled, clock.now())
    },
  })

  app.route({
    method: 'POST',
    url: contract.session.path,
    config: { endpoint: contract.session },
    onRequest: (request, reply, done) => {
      const refusal = disabled() ?? limitSessions(request.ip)
      if (refusal !== null) sendFailure(request, reply, refusal)
      else if (!isPlainUtf8(request)) sendFailure(request, reply, refuse('UNSUPPORTED_MEDIA_TYPE'))
      else done()
    },
    handler: async (request, reply) => {
      const read = await readJson(request)
      if (!read.ok) return sendBodyFailure(request, reply, read)
      const { value: body } = read
      const refusal = refuseUnknown(request.query, []) ?? refuseUnknown(body, SESSION_MEMBERS)
      if (refusal !== null) return sendFailure(request, reply, refusal)
      const now = clock.now()
      const creation = createServerSession(
        { body, origin: originOf(request) },
        {
          allowedOrigins: secure.allowedOrigins,
          brand: secure.brand,
          keyFor: (kid) => secure.keys.keyFor(kid, now),
          now,
          randomBytes: random,
        },
      )
      if (!creation.ok) return sendFailure(request, reply, creation)
      await secure.sessions.add(creation.session)
      return creation.answer
    },
  })

  function limitSessions(address: string): Refusal | null {
    const verdict = limits.take('secure_session', address)
    if (verdict === null || verdict.allowed) return null
    return { ...refuse('RATE_LIMITED'), retryAfterSeconds: verdict.resetSeconds }
  }

  app.route({
    method: 'POST',
    url: contract.dispatch.path,
    config: { endpoint: contract.dispatch },
    onRequest: (request, reply, done) => {
      const refusal = disabled() ?? checkDispatchHead(request.headers as Record<string, string | undefined>)
      if (refusal === undefined) done()
      else sendFailure(request, reply, refusal)
    },
    // Answers nothing, as in bind.ts.
    handler: (request, reply) => {
      dispatch(request, reply).catch((error: unknown) => reply.send(error))
    },
  })

  /** The order of decisions.md 10. A replay is marked only after the tag was verified. */
  async function dispatch(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const refused = (refusal: Refusal): void => {
      sendFailure(request, reply, refusal)
    }
    const reading = readBytes(request.raw, MAX_ENVELOPE_BYTES)
    const bytes = reading instanceof Promise ? await reading : reading
    if (typeof bytes === 'string') {
      const code = bytes === 'too_large' ? 'SECURE_ENVELOPE_TOO_LARGE' : 'SECURE_ENVELOPE_INVALID'
      sendBodyFailure(request, reply, refuse(code))
      return
    }
    const now = clock.now()
    const read = refuseUnknown(request.query, []) ?? readDispatch(bytes, now)
    if (!read.ok) return refused(read)
    const { message } = read
    const found = await secure.sessions.find(message.sid)
    const live = found === undefined || hasEnded(found, now) ? undefined : found
    const opened = openDispatch(message, { session: live, origin: originOf(request), now })
    if (!opened.ok) return refused(opened)
    const { session, plaintext } = opened
    const use = await secure.sessions.use(message.sid, message.rid)
    if (use === 'replayed') return refused(refuse('REQUEST_REPLAYED'))
    if (use === 'ended') return refused(refuse('SECURE_SESSION_EXPIRED'))
    const text = decodeUtf8(plaintext) ?? ''
    const inner = readInnerText(text)
    const answer = inner.ok
      ? await exchangeInside(
          app.routing as Parameters<typeof exchangeInside>[0],
          new InnerMessage(inner.request, text, plaintext.length, session.origin, {
            request: request.raw,
            response: reply.raw,
          }),
        )
      : refusedInside(refuse(inner.code, { part: inner.part }), request.id)
    // With a serializer of its own, since Fastify adds a charset where there is none.
    reply
      .type(MEDIA_TYPE)
      .serializer(asItIs)
      .send(encodeEnvelope(sealAnswer(message, session, answer, random)))
  }
}

const asItIs = (text: string): string => text

/** The Origin header; two of them are one that no policy allows. */
function originOf({ raw }: FastifyRequest): string | undefined {
  const values = headerValues(raw, 'origin')
  return values.length === 0 ? undefined : values.join(', ')
}

function refuseUnknown(value: unknown, known: readonly string[]): Refusal<'VALIDATION_FAILED'> | null {
  const unknown = Object.keys(asMembers(value) ?? {}).filter((name) => !known.includes(name))
  if (unknown.length === 0) return null
  const errors = unknown.slice(0, ISSUES_MAX).map((name) => unknownMember('', name, known))
  return invalid(...errors)
}

function refusedInside(refusal: Refusal, requestId: string) {
  return {
    status: 400,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': requestId },
    body: JSON.stringify(failureEnvelope(refusal, requestId)),
  }
}
