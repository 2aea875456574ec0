import type { RetryOptions } from './settings.js'
import {
  isTransportError,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  throwIfAborted,
  watchLifetime,
} from './transport.js'

// Captured before a test can fake it.
const { bigint: nanoseconds } = process.hrtime
/** Monotonic milliseconds. `performance.now()` would load a module, which delays a command's start by a millisecond. */
const monotonic = () => Number(nanoseconds()) / 1e6

const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 5_000

/**
 * Retries transient failures: a repeatable request after any network error, 429, 5xx or retryable failure; any other
 * request only if the server certainly did not process it (no connection, no encrypted session, 429, 503). It does not
 * retry refusals of the encrypted transport. Each wait is a random part of a delay that doubles, but at least the
 * Retry-After; all attempts together stay within the request's `timeoutMs`.
 */
export function withRetry(transport: Transport, options: RetryOptions = {}): Transport {
  const { tries = 4, random = Math.random, sleep = sleepFor, now = Date.now } = options
  const { monotonicMs = monotonic, onRetry } = options
  const delayAfter = (outcome: RetryOutcome, attempt: number) => {
    const backoffMs = random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1))
    return Math.max(backoffMs, readRetryAfter(headersOf(outcome), now) ?? 0)
  }
  return async (request) => {
    const endsAt = monotonicMs() + (request.timeoutMs ?? Number.POSITIVE_INFINITY)
    let maybeProcessed = false
    for (let attempt = 1; ; attempt += 1) {
      const left = endsAt - monotonicMs()
      const outcome = await attemptOnce(
        transport,
        left === Number.POSITIVE_INFINITY ? request : { ...request, timeoutMs: left },
      )
      const isRetryable = attempt < tries && (await isTransient(outcome, request))
      const delayMs = isRetryable ? delayAfter(outcome, attempt) : Number.POSITIVE_INFINITY
      const isInTime = monotonicMs() + delayMs < endsAt
      if (!isInTime) return finish(outcome, maybeProcessed)
      maybeProcessed ||= wasMaybeProcessed(outcome)
      onRetry?.({ attempt, delayMs, ...(await describe(outcome)) })
      try {
        await sleep(delayMs, request.signal)
      } catch (error) {
        if (!isTransportError(error)) throw error
        throw new TransportError(error.kind, error.message, { maybeProcessed })
      }
    }
  }
}

type RetryOutcome = TransportResponse | TransportError

const headersOf = (outcome: RetryOutcome) =>
  isTransportError(outcome) ? (outcome.secure?.headers ?? {}) : outcome.headers

async function attemptOnce(transport: Transport, request: TransportRequest): Promise<RetryOutcome> {
  try {
    return await transport(request)
  } catch (error) {
    if (isTransportError(error)) return error
    throw error
  }
}

async function isTransient(outcome: RetryOutcome, { repeatable = false }: TransportRequest): Promise<boolean> {
  if (isTransportError(outcome)) {
    const { kind, maybeProcessed, secure } = outcome
    if (kind === 'aborted' || kind === 'untrusted' || secure?.retryable === false) return false
    return repeatable || !maybeProcessed
  }
  const { status } = outcome
  if (status === 429 || status === 503) return true
  return repeatable && status >= 400 && (status >= 500 || (await readFailure(outcome)).retryable)
}

/** Loads the failure table only after a failure, as call.ts does. */
const readFailure = async (response: TransportResponse) => (await import('./failure.js')).readFailure(response)

/** True if the server may have acted: not with a status below 500 or with 503, but with any other 5xx. */
function wasMaybeProcessed(outcome: RetryOutcome): boolean {
  return isTransportError(outcome) ? outcome.maybeProcessed : outcome.status >= 500 && outcome.status !== 503
}

async function describe(outcome: RetryOutcome): Promise<{ status: number; code: string }> {
  if (!isTransportError(outcome)) return { status: outcome.status, code: (await readFailure(outcome)).code }
  return { status: outcome.secure?.status ?? 0, code: outcome.secure?.code ?? outcome.kind }
}

/** Returns the last response or throws the last error; sets `maybeProcessed` if any attempt may have been processed. */
function finish(outcome: RetryOutcome, maybeProcessed: boolean): TransportResponse {
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

const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Converts the Retry-After header (RFC 9110, 10.2.3: seconds or a date) to milliseconds; null if it is absent or
 * invalid. A date is compared with the Date header of the response if present, so that a wrong clock does not matter.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: () => number): number | null {
  const value = headers['retry-after']
  if (value === undefined) return null
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000
  if (!httpDate.test(value)) return null
  const sent = headers.date !== undefined && httpDate.test(headers.date) ? Date.parse(headers.date) : now()
  const delay = Date.parse(value) - sent
  return Number.isNaN(delay) ? null : Math.max(0, delay)
}
