import type { Update } from '../contract/updates.js'
import { RETRY_DELAYS_SECONDS } from '../contract/webhook.js'
import { pause } from '../files/pause.js'
import { type ConnectionChange, type PollingOptions, type PollPosition, pollUpdates } from './polling.js'
import { isDelivered, type PostResult } from './post.js'

/** An update that the application did not accept within the maximum number of attempts. */
export interface DeadLetter {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly update: Update
}

/** One attempt to deliver an update, with its outcome. */
export interface BridgeLine {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempt: number
  readonly outcome: 'delivered' | 'failed' | 'dead_letter'
  /** HTTP status of the application's response; null if it did not respond. */
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  /** Milliseconds until the next attempt; null after success and after the last attempt. */
  readonly retry_in_ms: number | null
}

/** A lost or restored connection to the server. */
export interface ConnectionLine {
  readonly time: string
  readonly outcome: ConnectionChange
  /** Why polls fail; null after they succeed again. */
  readonly error: string | null
}

export interface BridgeOptions<F> extends Omit<PollingOptions<F>, 'connectionLine'> {
  /** Confirms to the server every update before this id; resolves to false on failure. */
  confirm(before: number): Promise<boolean>
  /** Signs an update and posts it to the application. The abort signal does not stop this request. */
  deliver(update: Update): Promise<PostResult>
  /** Writes a dead letter to disk; the bridge ends if this fails. */
  addDeadLetter(letter: DeadLetter): Promise<F | undefined>
  /** Warns that deliveries may be repeated. */
  warn(text: string): void
  /** Adds a sentence to the hint of a failure. */
  withSentence(failure: F, sentence: string): F
  now(): number
  /** Milliseconds before each further attempt; the last value repeats. */
  readonly delaysMs: readonly number[]
  /** Maximum number of attempts before an update becomes a dead letter; unlimited if undefined. */
  readonly attemptsMax: number | undefined
}

/** Milliseconds between the platform's delivery attempts; the bridge repeats the last value (RULES.md#bridge). */
export const PLATFORM_DELAYS_MS: readonly number[] = RETRY_DELAYS_SECONDS.map((it) => it * 1000)
/** Milliseconds between attempts with `--retry-fast`: from 100 ms, doubling up to 10 s. */
export const FAST_DELAYS_MS: readonly number[] = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]

/**
 * Polls updates from the server and delivers them to an application one at a time, in the order of their ids. A failing
 * update blocks later ones, so that the updates of a chat stay in order. The bridge confirms an update to the server
 * only after the application accepted it or it became a dead letter; otherwise the next run delivers it again.
 *
 * After the abort signal the bridge finishes the delivery in flight and confirms the delivered updates.
 */
export async function* bridge<F>(
  options: BridgeOptions<F>,
): AsyncGenerator<BridgeLine | ConnectionLine, F | undefined> {
  const connectionLine = (outcome: ConnectionChange, error: string | null): ConnectionLine => ({
    time: new Date(options.now()).toISOString(),
    outcome,
    error,
  })
  const position: PollPosition = { next: undefined, confirmed: undefined, isServerAway: false }
  const failure = yield* pollUpdates<F, BridgeLine | ConnectionLine>(
    { ...options, connectionLine },
    position,
    (update) => deliverInOrder(update, position, options),
  )
  // Do not confirm after a failed poll: the confirmation is itself a poll and would end another process's poll.
  if (failure !== undefined) return ended(failure, position, options)
  if (position.isServerAway || !(await confirmDelivered(position, options))) {
    if (position.next !== position.confirmed) options.warn(`warning: the ${UNCONFIRMED}`)
  }
  return undefined
}

const UNCONFIRMED = 'last deliveries could not be confirmed: they come again with the next run.'

/** Adds to a failure the hint that the last updates are unconfirmed, if that is the case. */
function ended<F>(failure: F, { next, confirmed }: PollPosition, { withSentence }: BridgeOptions<F>): F {
  return next === confirmed ? failure : withSentence(failure, `The ${UNCONFIRMED}`)
}

/** Attempts until the application accepts the update, the update becomes a dead letter, or the signal aborts. */
async function* deliverInOrder<F>(
  update: Update,
  position: PollPosition,
  options: BridgeOptions<F>,
): AsyncGenerator<BridgeLine, F | undefined> {
  const { update_id, type } = update
  const { delaysMs, attemptsMax = Number.POSITIVE_INFINITY, signal } = options
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const time = new Date(options.now()).toISOString()
    const ending = () => options.notice('Ending after the delivery in flight.')
    signal.addEventListener('abort', ending, { once: true })
    const result = await options.deliver(update)
    signal.removeEventListener('abort', ending)
    const { status, error, durationMs } = result
    const line = { time, update_id, type, attempt, status, error, duration_ms: durationMs, retry_in_ms: null }
    if (isDelivered(result)) {
      position.next = update_id + 1
      yield { ...line, outcome: 'delivered' }
      return undefined
    }
    if (attempt >= attemptsMax) {
      const failure = await options.addDeadLetter({ time, update_id, type, attempts: attempt, status, error, update })
      if (failure !== undefined) {
        await confirmDelivered(position, options)
        return failure
      }
      position.next = update_id + 1
      yield { ...line, outcome: 'dead_letter' }
      return undefined
    }
    const waitMs = delaysMs[Math.min(attempt, delaysMs.length) - 1] as number
    yield { ...line, outcome: 'failed', retry_in_ms: waitMs }
    // Confirm the earlier updates now, because the retries of this update may take long.
    if (attempt === 1 && !signal.aborted) await confirmDelivered(position, options)
    await pause(waitMs, signal)
  }
  return undefined
}

async function confirmDelivered<F>(position: PollPosition, { confirm }: BridgeOptions<F>): Promise<boolean> {
  if (position.next === undefined || position.next === position.confirmed) return true
  const done = await confirm(position.next)
  if (done) position.confirmed = position.next
  return done
}
