import type { Update } from '../contract/updates.js'
import { pause } from './pause.js'
import type { Place, Polling } from './poll-on.js'
import { pollOn } from './poll-on.js'
import type { Posted } from './post.js'
import { isDelivered } from './post.js'

/** An update that was passed over. */
export interface DeadLetter {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly update: Update
}

/** One attempt and what follows from it. */
export interface BridgeLine {
  readonly time: string
  readonly update_id: number
  readonly type: string
  readonly attempt: number
  readonly outcome: 'delivered' | 'failed' | 'dead_letter'
  /** Of the app; null when it did not answer. */
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  /** Milliseconds until the next attempt of a failed one. */
  readonly retry_in_ms: number | null
}

export interface BridgeOptions<F> extends Polling<F> {
  /** Confirms every update before this one; false when that failed. */
  confirm(before: number): Promise<boolean>
  /** Signs and posts an update; the signal does not end it. */
  deliver(update: Update): Promise<Posted>
  /** Keeps what is passed over, on disk when this is over; a failure ends the bridge. */
  bury(letter: DeadLetter): Promise<F | undefined>
  /** What must be known so that nothing is taken for lost or new. */
  warn(text: string): void
  /** The failure with one more sentence. */
  adding(failure: F, sentence: string): F
  now(): number
  /** Before each further attempt; the last one goes on. */
  readonly delaysMs: readonly number[]
  /** Then an update is a dead letter. Undefined: never. */
  readonly attemptsMax: number | undefined
}

/** Delays between attempts of the platform, in ms; here the last one repeats (DECISIONS.md#bridge). */
export const PLATFORM_DELAYS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000]
/** For who waits for it: from 100 ms, twice as long each time, at most 10 s. */
export const FAST_DELAYS_MS: readonly number[] = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]

/**
 * Polls updates and hands them to an app, one after the other in the order of their ids: an update that fails holds
 * back those behind it, so that none overtakes another of its chat. An update is confirmed at the server once the app
 * took it or it lies among the dead letters, never before: whatever ends this process, it comes again then.
 *
 * After the signal the delivery in flight is finished, and what was delivered is confirmed.
 */
export async function* bridge<F>(options: BridgeOptions<F>): AsyncGenerator<BridgeLine, F | undefined> {
  const place: Place = { next: undefined, confirmed: undefined, isLost: false }
  const failure = yield* pollOn(options, place, (update) => handOver(update, place, options))
  // After a failed poll not confirmed by another one: it would end that of whoever took over.
  if (failure !== undefined) return ended(failure, place, options)
  if (place.isLost || !(await confirmDelivered(place, options))) {
    if (place.next !== place.confirmed) options.warn(`warning: the ${UNCONFIRMED}`)
  }
  return undefined
}

const UNCONFIRMED = 'last deliveries could not be confirmed: they come again with the next run.'

/** The failure, and what it leaves behind. */
function ended<F>(failure: F, { next, confirmed }: Place, { adding }: BridgeOptions<F>): F {
  return next === confirmed ? failure : adding(failure, `The ${UNCONFIRMED}`)
}

/** Until the app took the update, it is a dead letter, or the signal came. Moves the place behind it in the first two. */
async function* handOver<F>(
  update: Update,
  place: Place,
  options: BridgeOptions<F>,
): AsyncGenerator<BridgeLine, F | undefined> {
  const { update_id, type } = update
  const { delaysMs, attemptsMax = Number.POSITIVE_INFINITY, signal } = options
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const time = new Date(options.now()).toISOString()
    const ending = () => options.notice('Ending after the delivery in flight.')
    signal.addEventListener('abort', ending, { once: true })
    const posted = await options.deliver(update)
    signal.removeEventListener('abort', ending)
    const { status, error, durationMs } = posted
    const line = { time, update_id, type, attempt, status, error, duration_ms: durationMs, retry_in_ms: null }
    if (isDelivered(posted)) {
      place.next = update_id + 1
      yield { ...line, outcome: 'delivered' }
      return undefined
    }
    if (attempt >= attemptsMax) {
      const failure = await options.bury({ time, update_id, type, attempts: attempt, status, error, update })
      if (failure !== undefined) {
        await confirmDelivered(place, options)
        return failure
      }
      place.next = update_id + 1
      yield { ...line, outcome: 'dead_letter' }
      return undefined
    }
    const waitMs = delaysMs[Math.min(attempt, delaysMs.length) - 1] as number
    yield { ...line, outcome: 'failed', retry_in_ms: waitMs }
    // It may take long: what came before it is not to come again for that.
    if (attempt === 1 && !signal.aborted) await confirmDelivered(place, options)
    await pause(waitMs, signal)
  }
  return undefined
}

async function confirmDelivered<F>(place: Place, { confirm }: BridgeOptions<F>): Promise<boolean> {
  if (place.next === undefined || place.next === place.confirmed) return true
  const done = await confirm(place.next)
  if (done) place.confirmed = place.next
  return done
}
