import type { Update } from '../contract/updates.js'
import { pause } from './pause.js'
import { type PollingOptions, type PollPosition, pollUpdates } from './polling.js'
import { isDelivered, type PostResult } from './post.js'

/** An update that the app did not accept. */
export interface DeadLetter {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly update: Update
}

/** One attempt and its outcome. */
export interface BridgeLine {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempt: number
  readonly outcome: 'delivered' | 'failed' | 'dead_letter'
  /** HTTP status that the app returned; null if it did not respond. */
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  /** Milliseconds until the next attempt of a failed one. */
  readonly retry_in_ms: number | null
}

export interface BridgeOptions<F> extends PollingOptions<F> {
  /** Confirms every update before this one; false on failure. */
  confirm(before: number): Promise<boolean>
  /** Signs and posts an update; the signal does not abort it. */
  deliver(update: Update): Promise<PostResult>
  /** Writes a dead letter to the disk; a failure ends the bridge. */
  addDeadLetter(letter: DeadLetter): Promise<F | undefined>
  /** Warns that deliveries may be repeated. */
  warn(text: string): void
  /** Adds a sentence to the hint of a failure. */
  withSentence(failure: F, sentence: string): F
  now(): number
  /** Delays before further attempts; the last one repeats. */
  readonly delaysMs: readonly number[]
  /** Attempts until an update is a dead letter; unlimited if undefined. */
  readonly attemptsMax: number | undefined
}

/** Delays between attempts of the platform, in ms; here the last one repeats (DECISIONS.md#bridge). */
export const PLATFORM_DELAYS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000]
/** Delays of `--retry-fast`: from 100 ms, doubling up to 10 s. */
export const FAST_DELAYS_MS: readonly number[] = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]

/**
 * Polls updates and delivers them to an app one at a time, in the order of their ids. A failing update blocks the ones
 * after it, so that updates of a chat stay in order. An update is confirmed at the server only after the app accepted it
 * or it became a dead letter; until then every end of this process leads to another delivery.
 *
 * After the signal it finishes the delivery in flight and confirms the delivered updates.
 */
export async function* bridge<F>(options: BridgeOptions<F>): AsyncGenerator<BridgeLine, F | undefined> {
  const position: PollPosition = { next: undefined, confirmed: undefined, isServerAway: false }
  const failure = yield* pollUpdates(options, position, (update) => deliverInOrder(update, position, options))
  // Do not confirm after a failed poll: that would end the poll of another process.
  if (failure !== undefined) return ended(failure, position, options)
  if (position.isServerAway || !(await confirmDelivered(position, options))) {
    if (position.next !== position.confirmed) options.warn(`warning: the ${UNCONFIRMED}`)
  }
  return undefined
}

const UNCONFIRMED = 'last deliveries could not be confirmed: they come again with the next run.'

/** The failure, with the hint that updates are unconfirmed. */
function ended<F>(failure: F, { next, confirmed }: PollPosition, { withSentence }: BridgeOptions<F>): F {
  return next === confirmed ? failure : withSentence(failure, `The ${UNCONFIRMED}`)
}

/** Attempts until the app accepts the update, it is a dead letter, or the signal; the first two advance the position. */
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
    // The retries may take long: confirm the updates before this one.
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
