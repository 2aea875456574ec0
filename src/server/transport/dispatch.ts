import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { parse as parseQuery } from 'node:querystring'
import { type FailureCode, type Refusal, refuse } from '../../contract/errors.js'
import { dispatch as endpoint } from '../../contract/secure.js'
import { encodeEnvelope } from '../../secure/envelope.js'
import type { HttpResponse } from '../../secure/http.js'
import { readInnerText } from '../../secure/inner-request.js'
import { decodeUtf8 } from '../../secure/json.js'
import { checkDispatchHead, openDispatch, readDispatch, sealAnswer } from '../../secure/server/dispatch.js'
import { MAX_ENVELOPE_BYTES, MEDIA_TYPE } from '../../secure/suite.js'
import { hasEnded } from '../../store/sessions.js'
import type { Deps } from '../deps.js'
import { failureAnswer, headersOf } from '../http/envelope.js'
import { readBytes } from '../http/read-body.js'
import { refuseWithoutHost, targetOf } from '../http/request-target.js'
import type { Answered } from '../observe/request-log.js'
import { originOf, refuseUnknown } from './gateway.js'
import { exchangeInside, InnerMessage } from './inner-exchange.js'

/** Whether a request is a dispatch, in whatever form its target is written. */
export function isDispatch({ method, url = '' }: IncomingMessage): boolean {
  if (method !== endpoint.method) return false
  if (url === endpoint.path) return true
  // Every other POST comes by here: only one that says the path, or has something to decode, is looked at closer.
  if (!url.includes(endpoint.path) && !url.includes('%')) return false
  return decodeURI(splitTarget(url).path) === endpoint.path
}

function splitTarget(url: string): { readonly path: string; readonly query: string } {
  const target = targetOf(url)
  // Where the routes end a path as well.
  const [path = ''] = target.split(/[?#]/, 1)
  return { path, query: target.slice(path.length + 1) }
}

interface DispatchEvents {
  noteAnswered(it: Answered): void
  /** What the caller sees of a bug or an unusable store. */
  refuseFailed(id: string, error: unknown): Refusal
}

/**
 * Responds to dispatches (DECISIONS.md#dispatch-order). Only the inner call reaches Fastify, since the checks of a
 * route do not apply to an envelope.
 */
export function answerDispatches(deps: Deps, routing: RequestListener, events: DispatchEvents): RequestListener {
  const { secure, clock, random } = deps

  return (request, response) => {
    const id = deps.newId('req')
    const started = performance.now()
    const send = (answer: HttpResponse, code: FailureCode | null) => {
      write(response, answer, id)
      events.noteAnswered({
        id,
        endpoint,
        method: endpoint.method,
        status: answer.status,
        code,
        applicationId: null,
        replayed: false,
        elapsedMs: performance.now() - started,
      })
    }
    const refused = (refusal: Refusal) => send(failureAnswer(refusal, id, response.shouldKeepAlive), refusal.code)
    dispatch(request, response, id).then(
      (outcome) =>
        typeof outcome === 'string' ? send({ status: 200, headers: sealed, body: outcome }, null) : refused(outcome),
      (error: unknown) => refused(events.refuseFailed(id, error)),
    )
  }

  /** The sealed answer. A replay is marked only after the tag was verified. */
  async function dispatch(request: IncomingMessage, response: ServerResponse, id: string): Promise<string | Refusal> {
    const early =
      refuseWithoutHost(request) ??
      (secure.enabled ? undefined : refuse('SECURE_TRANSPORT_DISABLED')) ??
      checkDispatchHead(request.headers as Record<string, string | undefined>)
    if (early !== undefined) return early
    const reading = readBytes(request, MAX_ENVELOPE_BYTES)
    const bytes = reading instanceof Promise ? await Promise.race([reading, answeredBefore(response)]) : reading
    if (typeof bytes === 'string') {
      response.shouldKeepAlive = false
      return refuse(bytes === 'too_large' ? 'SECURE_ENVELOPE_TOO_LARGE' : 'SECURE_ENVELOPE_INVALID')
    }
    const now = clock.now()
    const read = refuseQuery(request) ?? readDispatch(bytes, now)
    if (!read.ok) return read
    const { message } = read
    const found = await secure.sessions.find(message.sid)
    const live = found === undefined || hasEnded(found, now) ? undefined : found
    const opened = openDispatch(message, { session: live, origin: originOf(request), now })
    if (!opened.ok) return opened
    const { session, plaintext } = opened
    const use = await secure.sessions.use(message.sid, message.rid)
    if (use === 'replayed') return refuse('REQUEST_REPLAYED')
    if (use === 'ended') return refuse('SECURE_SESSION_EXPIRED')
    const text = decodeUtf8(plaintext) ?? ''
    const inner = readInnerText(text)
    const outer = { id, request, response }
    const answer = inner.ok
      ? await exchangeInside(routing, new InnerMessage(inner.request, text, plaintext.length, session.origin, outer))
      : refusedInside(refuse(inner.code, { part: inner.part }), id)
    // Best effort: the call has succeeded, and only the order of eviction depends on this.
    if (live?.confirmed === false && answer.status < 300) await secure.sessions.confirm(message.sid).catch(() => {})
    return encodeEnvelope(sealAnswer(message, session, answer, random))
  }
}

const sealed = { 'content-type': MEDIA_TYPE }

function refuseQuery({ url = '' }: IncomingMessage): Refusal<'VALIDATION_FAILED'> | null {
  return url === endpoint.path ? null : refuseUnknown(parseQuery(splitTarget(url).query), [])
}

/** A body that breaks off is answered by its connection (http-server.ts), after which the message tells of no end. */
function answeredBefore(response: ServerResponse): Promise<'broken'> {
  return new Promise((resolve) => response.once('close', () => resolve('broken')))
}

function write(response: ServerResponse, answer: HttpResponse, id: string): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(answer.status, headersOf(answer, id))
  response.end(answer.body)
}

function refusedInside(refusal: Refusal, requestId: string): HttpResponse {
  const answer = failureAnswer(refusal, requestId, true)
  return { ...answer, headers: { ...answer.headers, 'x-request-id': requestId } }
}
