import { throwIfAborted, watchLifetime } from './lifetime.js'
import { readFailure } from './response.js'
import { readRetryAfter } from './retry-after.js'
import type { Transport, TransportRequest, TransportResponse } from './transport.js'
import { isTransportError, TransportError } from './transport.js'

export interface Repeat {
  /** The try that failed, from 1. */
  readonly attempt: number
  readonly delayMs: number
  /** HTTP status, or 0 when no answer arrived. */
  readonly status: number
  /** Failure code of the answer, or the kind of the transport error. */
  readonly code: string
}

export interface RetryOptions {
  /** Tries in all; default 4. */
  readonly tries?: number
  /** From 0 to below 1. */
  readonly random?: () => number
  /** @throws TransportError `aborted` when the signal fires first. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
  /** Milliseconds since 1970, for dates in Retry-After. */
  readonly now?: () => number
  readonly onRepeat?: (repeat: Repeat) => void
}

/** `performance.now()` loads a module of its own, a millisecond of a command's start. */
const monotonic = () => Number(process.hrtime.bigint()) / 1e6

const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 5_000

/**
 * Sends again what failed for now: a repeatable request after any network error, 429, 5xx or retryable failure; any
 * other only when it was certainly not processed (no connection, a session that could not be negotiated, 429, 503).
 * What the encrypted transport refuses is not repeated. Waits a random share of a delay that
 * doubles, at least as long as Retry-After says, and never beyond the request's `timeoutMs`.
 */
export function withRetry(transport: Transport, options: RetryOptions = {}): Transport {
  const { tries = 4, random = Math.random, sleep = sleepFor, now = Date.now } = options
  const { monotonicMs = monotonic, onRepeat } = options
  return async (request) => {
    const endsAt = request.timeoutMs === undefined ? Number.POSITIVE_INFINITY : monotonicMs() + request.timeoutMs
    let maybeProcessed = false
    for (let attempt = 1; ; attempt += 1) {
      const left = endsAt - monotonicMs()
      const outcome = await attemptOnce(
        transport,
        left === Number.POSITIVE_INFINITY ? request : { ...request, timeoutMs: left },
      )
      const delayMs = Math.max(
        random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)),
        readRetryAfter(headersOf(outcome), now) ?? 0,
      )
      const repeat = attempt < tries && isWorthRepeating(outcome, request) && monotonicMs() + delayMs < endsAt
      if (!repeat) return finish(outcome, maybeProcessed)
      maybeProcessed ||= wasMaybeProcessed(outcome)
      onRepeat?.({ attempt, delayMs, ...describe(outcome) })
      try {
        await sleep(delayMs, request.signal)
      } catch (error) {
        if (!isTransportError(error)) throw error
        throw new TransportError(error.kind, error.message, { maybeProcessed })
      }
    }
  }
}

type Outcome = TransportResponse | TransportError

const headersOf = (outcome: Outcome) => (isTransportError(outcome) ? (outcome.secure?.headers ?? {}) : outcome.headers)

async function attemptOnce(transport: Transport, request: TransportRequest): Promise<Outcome> {
  try {
    return await transport(request)
  } catch (error) {
    if (isTransportError(error)) return error
    throw error
  }
}

function isWorthRepeating(outcome: Outcome, { repeatable = false }: TransportRequest): boolean {
  if (isTransportError(outcome)) {
    const { kind, maybeProcessed, secure } = outcome
    if (kind === 'aborted' || secure?.retryable === false) return false
    return repeatable || !maybeProcessed
  }
  const { status } = outcome
  if (status === 429 || status === 503) return true
  return repeatable && status >= 400 && (status >= 500 || readFailure(outcome).retryable)
}

/** A 503 and everything below 500 says that the server declined; any other 5xx may come after the work was done. */
function wasMaybeProcessed(outcome: Outcome): boolean {
  return isTransportError(outcome) ? outcome.maybeProcessed : outcome.status >= 500 && outcome.status !== 503
}

function describe(outcome: Outcome): { status: number; code: string } {
  if (!isTransportError(outcome)) return { status: outcome.status, code: readFailure(outcome).code }
  return { status: outcome.secure?.status ?? 0, code: outcome.secure?.code ?? outcome.kind }
}

/** The last outcome, with the doubt that earlier tries left. */
function finish(outcome: Outcome, maybeProcessed: boolean): TransportResponse {
  if (!isTransportError(outcome)) return maybeProcessed ? { ...outcome, maybeProcessed } : outcome
  if (!maybeProcessed || outcome.maybeProcessed) throw outcome
  const { kind, message, secure } = outcome
  throw new TransportError(kind, message, { maybeProcessed, secure })
}

async function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  const limits = signal === undefined ? { timeoutMs: ms } : { timeoutMs: ms, signal }
  throwIfAborted(limits)
  await new Promise<void>((resolve, reject) => {
    const stop = watchLifetime(limits, (end, message) => {
      stop()
      if (end === 'timeout') resolve()
      else reject(new TransportError('aborted', message))
    })
  })
}
