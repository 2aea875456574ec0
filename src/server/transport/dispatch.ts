import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse as parseQuery } from 'node:querystring'
import { type FailureCode, type Refusal, refuse } from '../../contract/errors.js'
import { dispatch as endpoint } from '../../contract/secure.js'
import { encodeEnvelope } from '../../secure/envelope.js'
import type { HttpResponse } from '../../secure/http.js'
import { readInnerText } from '../../secure/inner-request.js'
import { checkDispatchHead, openDispatch, readDispatch, sealResponse } from '../../secure/server/dispatch.js'
import { MAX_ENVELOPE_BYTES, MEDIA_TYPE } from '../../secure/suite.js'
import { hasEnded } from '../../store/sessions.js'
import { decodeUtf8 } from '../../values/json.js'
import { TestClock } from '../clock.js'
import type { Deps } from '../deps.js'
import { readBytes } from '../http/body.js'
import { failureResponse, headersOf } from '../http/envelope.js'
import {
  type Carrier,
  type Exchange,
  innerExchange,
  refuseWithoutHost,
  splitTarget,
  writeReply,
} from '../http/exchange.js'
import type { CompletedRequest } from '../observe/request-log.js'
import { originOf, refuseUnknown } from './gateway.js'

interface OpenedDispatch extends Carrier {
  readonly id: string
  readonly startedAt: number
  /** True once the decrypted request has been passed to its route. */
  passed: boolean
}

interface DispatchEvents {
  /** @param carries true if the envelope was opened: the call inside is recorded on its own */
  recordRequest(ended: CompletedRequest, status: number, captured: null, carries: boolean): void
  /** Logs a bug or an unusable store and returns the refusal for the client. */
  refusalOfError(id: string, error: unknown): Refusal
}

/**
 * Responds to dispatches (rules/encryption.md#dispatch-order). Passes only the decrypted call to the routes, because
 * their checks do not apply to an envelope.
 */
export class DispatchResponder {
  readonly #deps: Deps
  readonly #respondInside: (exchange: Exchange) => Promise<HttpResponse>
  readonly #events: DispatchEvents

  constructor(deps: Deps, respondInside: (exchange: Exchange) => Promise<HttpResponse>, events: DispatchEvents) {
    this.#deps = deps
    this.#respondInside = respondInside
    this.#events = events
  }

  respond(request: IncomingMessage, response: ServerResponse): void {
    const id = this.#deps.newId('req')
    const outer: OpenedDispatch = { id, request, response, startedAt: performance.now(), passed: false }
    this.#dispatch(outer).then(
      (outcome) =>
        typeof outcome === 'string'
          ? this.#send(outer, { status: 200, headers: sealed, body: outcome }, null)
          : this.#refuse(outer, outcome),
      (error: unknown) => this.#refuse(outer, this.#events.refusalOfError(id, error)),
    )
  }

  #send(outer: OpenedDispatch, sent: HttpResponse, failureCode: FailureCode | null): void {
    write(outer, sent)
    const { id, startedAt, passed } = outer
    const ended = {
      id,
      method,
      route,
      failureCode,
      startedAt,
      caller: null,
      botId: null,
      voucher: null,
      replayed: false,
    }
    this.#events.recordRequest(ended, sent.status, null, passed)
  }

  #refuse(outer: OpenedDispatch, refusal: Refusal): void {
    this.#send(outer, failureResponse(refusal, outer.id, outer.response.shouldKeepAlive), refusal.code)
  }

  /** Returns the encrypted response. */
  async #dispatch(outer: OpenedDispatch): Promise<string | Refusal> {
    const { id, request } = outer
    const { secure, random } = this.#deps
    const reading = readEnvelope(outer, secure.enabled)
    const bytes = reading instanceof Promise ? await reading : reading
    if (!Buffer.isBuffer(bytes)) return bytes
    const opened = await this.#open(bytes, request)
    if (!opened.ok) return opened
    const { message, live, session, plaintext } = opened
    const text = decodeUtf8(plaintext) ?? ''
    const inner = readInnerText(text)
    outer.passed = inner.ok
    const plaintextOf = { text, textBytes: plaintext.length, origin: session.origin }
    const reply = inner.ok
      ? await this.#respondInside(innerExchange(id, outer, inner.request, plaintextOf))
      : refusedInside(refuse(inner.code, { part: inner.part }), id)
    // Ignore a failure: the confirmation only determines which sessions the store evicts first.
    if (live?.confirmed === false && reply.status < 300) await secure.sessions.confirm(message.sid).catch(() => {})
    return encodeEnvelope(sealResponse(message, session, reply, random))
  }

  /** Decrypts an envelope. Records its request id (rid) as used only after verifying the tag. */
  async #open(bytes: Buffer, request: IncomingMessage) {
    const { secure, clock } = this.#deps
    const now = clock.now()
    const read = refuseQuery(request) ?? readDispatch(bytes, now)
    if (!read.ok) return this.#isFromBeforeMove(bytes, read) ? refuse('SECURE_SESSION_EXPIRED') : read
    const { message } = read
    const found = await secure.sessions.find(message.sid)
    const live = found === undefined || hasEnded(found, now) ? undefined : found
    const opened = openDispatch(message, { session: live, origin: originOf(request), now })
    if (!opened.ok) return opened
    const { session, plaintext } = opened
    const use = await secure.sessions.use(message.sid, message.rid)
    if (use === 'replayed') return refuse('REQUEST_REPLAYED')
    if (use === 'ended') return refuse('SECURE_SESSION_EXPIRED')
    return { ok: true as const, message, live, session, plaintext }
  }

  /** True if the test clock moved after the client read it; then only SECURE_SESSION_EXPIRED makes it repeat. */
  #isFromBeforeMove(bytes: Uint8Array, { code }: Refusal): boolean {
    const { clock } = this.#deps
    if (code !== 'REQUEST_TIMESTAMP_OUT_OF_RANGE' || !(clock instanceof TestClock)) return false
    return clock.earlierNows().some((then) => readDispatch(bytes, then).ok)
  }
}

function readEnvelope(
  { request, response }: OpenedDispatch,
  isEnabled: boolean,
): Buffer | Refusal | Promise<Buffer | Refusal> {
  const early =
    refuseWithoutHost(request) ??
    (isEnabled ? undefined : refuse('SECURE_TRANSPORT_DISABLED')) ??
    checkDispatchHead(request.headers as Record<string, string | undefined>)
  if (early !== undefined) return early.code === 'UNSUPPORTED_MEDIA_TYPE' ? { ...early, message: NOT_SECURE } : early
  const take = (bytes: Buffer | 'too_large' | 'broken') => {
    if (typeof bytes !== 'string') return bytes
    response.shouldKeepAlive = false
    return refuse(bytes === 'too_large' ? 'SECURE_ENVELOPE_TOO_LARGE' : 'SECURE_ENVELOPE_INVALID')
  }
  const reading = readBytes(request, MAX_ENVELOPE_BYTES)
  return reading instanceof Promise ? Promise.race([reading, responseClosed(response)]).then(take) : take(reading)
}

const { method } = endpoint
const route = { endpoint }

const sealed = { 'content-type': MEDIA_TYPE }

function refuseQuery({ url = '' }: IncomingMessage): Refusal<'VALIDATION_FAILED'> | null {
  return url === endpoint.path ? null : refuseUnknown(parseQuery(splitTarget(url).query), [])
}

/** Resolves when HttpServer has responded to a truncated body: its message then emits no further event. */
function responseClosed(response: ServerResponse): Promise<'broken'> {
  return new Promise((resolve) => response.once('close', () => resolve('broken')))
}

const NOT_SECURE = `The body is not ${MEDIA_TYPE} without a content encoding.`

function write(outer: OpenedDispatch, sent: HttpResponse): void {
  const { response, id } = outer
  if (response.headersSent || response.destroyed) return
  writeReply(outer, { ...sent, headers: headersOf(sent, id) })
}

function refusedInside(refusal: Refusal, requestId: string): HttpResponse {
  const response = failureResponse(refusal, requestId, true)
  return { ...response, headers: { ...response.headers, 'x-request-id': requestId } }
}
