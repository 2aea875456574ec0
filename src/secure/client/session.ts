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
import { isBusinessSuccess } from '../inner-response.js'
import { isCanonicalOrigin } from '../origin.js'
import { CLIENT_TIMEOUT_MS, RENEW_BEFORE_MS, SESSION_LIFETIME_MS } from '../suite.js'
import { systemTimer, within } from './deadline.js'
import { encodeInnerRequest } from './inner-request.js'
import { type ClientSession, negotiate } from './negotiation.js'
import { makeDowngradeProtection, type SecureSessionOptions } from './options.js'
import { arePins } from './pins.js'

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

/** A running negotiation that concurrent calls share. */
interface Renewal {
  readonly result: Promise<AgreementResult>
  readonly abort: AbortController
  /** Number of calls that wait for the negotiation. */
  waiting: number
}

type AgreementResult = { readonly ok: true; readonly agreement: Agreement } | SecureFailure
type Outcome = SecureSuccess | SecureFailure

/** Codes of a lost session: negotiate again and repeat the call once (DECISIONS.md#client-modes). */
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
  let current: Agreement | undefined
  let pending: Renewal | undefined

  /** Returns the current agreement or negotiates a new agreement, which concurrent calls share. */
  async function agree(callers: AbortSignal): Promise<AgreementResult> {
    if (current !== undefined && now() + current.offset < current.renewAt) return { ok: true, agreement: current }
    if (callers.aborted) return fail('SECURE_ABORTED', 'bootstrap')
    pending ??= startRenewal()
    const renewal = pending
    const leave = () => {
      renewal.waiting -= 1
      if (renewal.waiting > 0) return
      // Abort without callers: the negotiation would keep the process alive and delay the next call until its timeout.
      if (pending === renewal) pending = undefined
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

  function startRenewal(): Renewal {
    const abort = new AbortController()
    const renewal: Renewal = {
      abort,
      waiting: 0,
      result: renew(abort.signal).finally(() => {
        if (pending === renewal) pending = undefined
      }),
    }
    return renewal
  }

  async function renew(abandoned: AbortSignal): Promise<AgreementResult> {
    current = undefined
    const context = { send, origin, pins, now, randomBytes }
    const limits = { timeoutMs: CLIENT_TIMEOUT_MS, setTimer, signal: abandoned }
    const ending = await within((signal) => negotiate(context, { signal, timeoutMs: CLIENT_TIMEOUT_MS }), limits)
    if (ending.ended !== 'done') return fail('SECURE_TIMEOUT', 'bootstrap')
    const handshake = ending.value
    if (!handshake.ok) return handshake
    if (handshake.enabled) {
      await downgradeProtection.set()
      const { session, offset } = handshake
      current = { session, offset, renewAt: session.expiresAt - RENEW_BEFORE_MS }
    } else {
      // Only here may `auto` choose plain text (DECISIONS.md#client-modes), for the lifetime of a session.
      const isAllowed = mode === 'auto' && trustedChannel && !(await downgradeProtection.isSet())
      if (!isAllowed) return fail('SECURE_TRANSPORT_DISABLED', 'bootstrap')
      current = { session: undefined, offset: 0, renewAt: now() + SESSION_LIFETIME_MS }
    }
    return { ok: true, agreement: current }
  }

  async function sendPlain(request: HttpRequest): Promise<Outcome> {
    const sent = await exchange(send, request, 'plain')
    if (!sent.ok) return sent
    const { response } = sent
    if (response.status === 426 && secureCodeOf(response.body) === 'SECURE_TRANSPORT_REQUIRED') {
      current = undefined
      await downgradeProtection.set()
    }
    return { ok: true, response, encrypted: false, succeeded: isBusinessSuccess(response) }
  }

  async function dispatch(plaintext: Uint8Array, session: ClientSession, ts: number, limits: Limits): Promise<Outcome> {
    const sealed = sealRequest(plaintext, session, ts, randomBytes)
    if (!sealed.ok) return sealed
    const sent = await exchange(send, { ...sealed.request, ...limits }, 'dispatch')
    if (!sent.ok) return sent
    const opened = openResponse(sent.response, sealed.envelope, session)
    if (!opened.ok) return opened
    const { response } = opened
    return { ok: true, response, encrypted: true, succeeded: isBusinessSuccess(response) }
  }

  async function attempt(request: HttpRequest, limits: Limits, at: { phase: Phase }): Promise<Outcome> {
    const inner = encodeInnerRequest(request)
    if (!inner.ok && mode === 'required') return fail(inner.code, 'local', { part: inner.part })
    for (let isRepeat = false; ; isRepeat = true) {
      at.phase = 'bootstrap'
      const agreed = await agree(limits.signal)
      if (!agreed.ok) return agreed
      // The caller already has a failure with `maybeProcessed: false`, so do not send the request.
      if (limits.signal.aborted) return fail('SECURE_ABORTED', at.phase)
      const { agreement } = agreed
      const { session, offset } = agreement
      if (session === undefined) {
        at.phase = 'plain'
        return sendPlain({ ...request, ...limits })
      }
      if (!inner.ok) return fail(inner.code, 'local', { part: inner.part })
      at.phase = 'dispatch'
      const outcome = await dispatch(inner.plaintext, session, now() + offset, limits)
      if (outcome.ok) return outcome
      // Discard only the agreement that failed: another call may have negotiated a new agreement meanwhile.
      if (distrusted.includes(outcome.code) && current === agreement) current = undefined
      if (isRepeat || !resendable.includes(outcome.code)) return outcome
    }
  }

  return {
    async send(request) {
      if (mode === 'off') return sendPlain(request)
      const at: { phase: Phase } = { phase: 'local' }
      const { signal: callers } = request
      const timeoutMs = Math.min(request.timeoutMs ?? CLIENT_TIMEOUT_MS, CLIENT_TIMEOUT_MS)
      const work = (signal: AbortSignal) => attempt(request, { signal, timeoutMs }, at)
      const ending = await within(work, { timeoutMs, signal: callers, setTimer })
      if (ending.ended === 'done') return ending.value
      const code = ending.ended === 'timeout' ? 'SECURE_TIMEOUT' : 'SECURE_ABORTED'
      return fail(code, at.phase, { maybeProcessed: isBusiness(at.phase) })
    },
  }
}

interface Limits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}
