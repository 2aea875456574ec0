import { randomBytes as systemRandom } from 'node:crypto'
import { openResponse, sealRequest } from '../dispatch.js'
import {
  exchange,
  fail,
  isBusiness,
  type Phase,
  type SecureFailure,
  type SecureFailureCode,
  secureCodeOf,
} from '../failure.js'
import type { HttpRequest, HttpResponse } from '../http.js'
import { encodeInnerRequest } from '../inner-request.js'
import { isBusinessSuccess } from '../inner-response.js'
import { isCanonicalOrigin } from '../origin.js'
import { CLIENT_TIMEOUT_MS, RENEW_BEFORE_MS, SESSION_LIFETIME_MS } from '../suite.js'
import { systemTimer, within } from './deadline.js'
import { type ClientSession, negotiate } from './negotiation.js'
import { arePins, makeDowngradeProtection, type SecureSessionOptions } from './options.js'

/** A business response, whose status may be an error status. */
export interface SecureSuccess {
  readonly ok: true
  /** The decrypted response, or the plain-text response if the mode allowed plain text. */
  readonly response: HttpResponse
  readonly encrypted: boolean
  /** True for a status 2xx unless the body contains `success: false`. */
  readonly succeeded: boolean
}

export interface SecureSession {
  /**
   * Sends a business request and resolves to its decrypted response or to a failure. `timeoutMs` limits the whole call;
   * the default and the maximum are 15,000. Rejects only when an injected function throws, such as
   * `downgradeProtection.set`.
   */
  send(request: HttpRequest): Promise<SecureSuccess | SecureFailure>
}

/** Result of a negotiation, valid until `renewAt` by the server's clock: a session, or undefined for plain text. */
interface Agreement {
  readonly session: ClientSession | undefined
  readonly renewAt: number
  /** Milliseconds by which the server's clock is ahead of the client's clock. */
  readonly offset: number
}

/** A running negotiation, shared by concurrent calls. */
interface Renewal {
  readonly result: Promise<AgreementResult>
  readonly abort: AbortController
  /** Number of calls that wait for the negotiation. */
  waiting: number
}

type AgreementResult = { readonly ok: true; readonly agreement: Agreement } | SecureFailure
type Outcome = SecureSuccess | SecureFailure

/** Codes of a lost session: negotiate again and repeat the call once (rules/encryption.md#client-modes). */
const resendable: readonly SecureFailureCode[] = ['SECURE_SESSION_EXPIRED', 'SECURE_SESSION_MISMATCH']
/** Codes after which the next call negotiates again: clocks or keys differ, or another server responded. */
const distrusted: readonly SecureFailureCode[] = [
  ...resendable,
  'REQUEST_TIMESTAMP_OUT_OF_RANGE',
  'DECRYPTION_FAILED',
  'SECURE_ANSWER_INVALID',
]

/**
 * The client side of the encrypted transport, over any transport: bootstrap, session, dispatch, renewal. Safe for
 * concurrent calls; keys stay in memory. `send` must not retry: the server accepts an envelope only once.
 * @throws TypeError for an origin that is not canonical, a malformed pin, or more than two pins.
 */
export function createSecureSession(options: SecureSessionOptions): SecureSession {
  const {
    send,
    mode,
    origin = '',
    pins = [],
    trustedChannel = false,
    downgradeProtection = makeDowngradeProtection(),
  } = options
  const { now = Date.now, randomBytes = systemRandom, setTimer = systemTimer } = options
  if (origin !== '' && !isCanonicalOrigin(origin)) throw new TypeError('The origin must look like https://host[:port]')
  if (!arePins(pins)) throw new TypeError('At most two pins, sha256: and 43 characters each')
  const setup = { send, mode, origin, pins, trustedChannel, downgradeProtection, now, randomBytes, setTimer }
  const session = new Session(setup)
  return { send: (request) => session.send(request) }
}

class Session implements SecureSession {
  readonly #setup: Required<SecureSessionOptions>
  #current: Agreement | undefined
  #pending: Renewal | undefined

  constructor(setup: Required<SecureSessionOptions>) {
    this.#setup = setup
  }

  async send(request: HttpRequest): Promise<Outcome> {
    const { mode, setTimer } = this.#setup
    if (mode === 'off') return this.#sendPlain(request)
    const at: { phase: Phase } = { phase: 'local' }
    const { signal: callers } = request
    const timeoutMs = Math.min(request.timeoutMs ?? CLIENT_TIMEOUT_MS, CLIENT_TIMEOUT_MS)
    const work = (signal: AbortSignal) => this.#attempt(request, { signal, timeoutMs }, at)
    const ending = await within(work, { timeoutMs, signal: callers, setTimer })
    if (ending.ended === 'done') return ending.value
    const code = ending.ended === 'timeout' ? 'SECURE_TIMEOUT' : 'SECURE_ABORTED'
    return fail(code, at.phase, { maybeProcessed: isBusiness(at.phase) })
  }

  async #attempt(request: HttpRequest, limits: Limits, at: { phase: Phase }): Promise<Outcome> {
    const { mode, now } = this.#setup
    const inner = encodeInnerRequest(request)
    if (!inner.ok && mode === 'required') return fail(inner.code, 'local', { part: inner.part })
    for (let isRepeat = false; ; isRepeat = true) {
      at.phase = 'bootstrap'
      const agreed = await this.#agree(limits.signal)
      if (!agreed.ok) return agreed
      // The caller already has a failure with `maybeProcessed: false`, so do not send the request.
      if (limits.signal.aborted) return fail('SECURE_ABORTED', at.phase)
      const { agreement } = agreed
      const { session, offset } = agreement
      if (session === undefined) {
        at.phase = 'plain'
        return this.#sendPlain({ ...request, ...limits })
      }
      if (!inner.ok) return fail(inner.code, 'local', { part: inner.part })
      at.phase = 'dispatch'
      const outcome = await this.#dispatch(inner.plaintext, session, now() + offset, limits)
      if (outcome.ok) return outcome
      // Discard only the agreement that failed: another call may have negotiated a new agreement meanwhile.
      if (distrusted.includes(outcome.code) && this.#current === agreement) this.#current = undefined
      if (isRepeat || !resendable.includes(outcome.code)) return outcome
    }
  }

  /** Returns the current agreement or negotiates a new agreement, which concurrent calls share. */
  async #agree(callers: AbortSignal): Promise<AgreementResult> {
    const current = this.#current
    if (current !== undefined && this.#setup.now() + current.offset < current.renewAt) {
      return { ok: true, agreement: current }
    }
    if (callers.aborted) return fail('SECURE_ABORTED', 'bootstrap')
    this.#pending ??= this.#startRenewal()
    const renewal = this.#pending
    const leave = () => {
      renewal.waiting -= 1
      if (renewal.waiting > 0) return
      // Abort without callers: the negotiation would keep the process alive and delay the next call until its timeout.
      if (this.#pending === renewal) this.#pending = undefined
      renewal.abort.abort()
    }
    renewal.waiting += 1
    callers.addEventListener('abort', leave, { once: true })
    try {
      return await renewal.result
    } finally {
      callers.removeEventListener('abort', leave)
    }
  }

  #startRenewal(): Renewal {
    const abort = new AbortController()
    const renewal: Renewal = {
      abort,
      waiting: 0,
      result: this.#renew(abort.signal).finally(() => {
        if (this.#pending === renewal) this.#pending = undefined
      }),
    }
    return renewal
  }

  async #renew(abandoned: AbortSignal): Promise<AgreementResult> {
    this.#current = undefined
    const { send, mode, origin, pins, trustedChannel, downgradeProtection, now, randomBytes, setTimer } = this.#setup
    const context = { send, origin, pins, now, randomBytes }
    const limits = { timeoutMs: CLIENT_TIMEOUT_MS, setTimer, signal: abandoned }
    const ending = await within((signal) => negotiate(context, { signal, timeoutMs: CLIENT_TIMEOUT_MS }), limits)
    if (ending.ended !== 'done') return fail('SECURE_TIMEOUT', 'bootstrap')
    const handshake = ending.value
    if (!handshake.ok) return handshake
    if (handshake.enabled) {
      await downgradeProtection.set()
      const { session, offset } = handshake
      this.#current = { session, offset, renewAt: session.expiresAt - RENEW_BEFORE_MS }
    } else {
      // Only here may `auto` choose plain text (rules/encryption.md#client-modes), for the lifetime of a session.
      const isAllowed = mode === 'auto' && trustedChannel && !(await downgradeProtection.isSet())
      if (!isAllowed) return fail('SECURE_TRANSPORT_DISABLED', 'bootstrap')
      this.#current = { session: undefined, offset: 0, renewAt: now() + SESSION_LIFETIME_MS }
    }
    return { ok: true, agreement: this.#current }
  }

  async #sendPlain(request: HttpRequest): Promise<Outcome> {
    const sent = await exchange(this.#setup.send, request, 'plain')
    if (!sent.ok) return sent
    const { response } = sent
    if (response.status === 426 && secureCodeOf(response.body) === 'SECURE_TRANSPORT_REQUIRED') {
      this.#current = undefined
      await this.#setup.downgradeProtection.set()
    }
    return { ok: true, response, encrypted: false, succeeded: isBusinessSuccess(response) }
  }

  async #dispatch(plaintext: Uint8Array, session: ClientSession, ts: number, limits: Limits): Promise<Outcome> {
    const { send, randomBytes } = this.#setup
    const sealed = sealRequest(plaintext, session, ts, randomBytes)
    if (!sealed.ok) return sealed
    const sent = await exchange(send, { ...sealed.request, ...limits }, 'dispatch')
    if (!sent.ok) return sent
    const opened = openResponse(sent.response, sealed.envelope, session)
    if (!opened.ok) return opened
    const { response } = opened
    return { ok: true, response, encrypted: true, succeeded: isBusinessSuccess(response) }
  }
}

interface Limits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}
