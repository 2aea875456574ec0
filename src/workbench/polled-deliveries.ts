import type { Update } from '../contract/updates.js'
import { RETRY_DELAYS_SECONDS } from '../contract/webhook.js'
import { pause } from '../files/pause.js'
import { type PollingOptions, type PollPosition, pollUpdates } from './polling.js'
import { isDelivered, type PostResult } from './post.js'

/** An update that was not accepted within the maximum number of attempts. */
export interface DeadLetter {
  readonly update_id: number
  readonly type: string
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly update: Update
}

export interface PolledDeliveryOptions<F> extends PollingOptions<F> {
  /** Confirms to the server every update before this id; resolves to false on failure. */
  confirm(before: number): Promise<boolean>
  /** Signs an update and posts it to the receiver. The abort signal does not stop this request. */
  deliver(update: Update): Promise<PostResult>
  /** Writes a dead letter to disk; the deliveries end if this fails. */
  addDeadLetter(letter: DeadLetter): Promise<F | undefined>
  /** Warns that deliveries may be repeated. */
  warn(text: string): void
  /** Adds a sentence to the hint of a failure. */
  withSentence(failure: F, sentence: string): F
  /** Milliseconds before each further attempt; the last value repeats. */
  readonly delaysMs: readonly number[]
  /** Maximum number of attempts before an update becomes a dead letter; unlimited if undefined. */
  readonly attemptsMax: number | undefined
}

/** Milliseconds between the platform's attempts; the last value repeats (rules/workbench.md#polled-deliveries). */
export const PLATFORM_DELAYS_MS: readonly number[] = RETRY_DELAYS_SECONDS.map((it) => it * 1000)
/** Milliseconds between attempts with `--retry-fast`: from 100 ms, doubling up to 10 s. */
export const FAST_DELAYS_MS: readonly number[] = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000]

const UNCONFIRMED = 'last deliveries could not be confirmed: they come again with the next run.'

/**
 * Polls updates from the server and delivers them to a receiver one at a time, in the order of their ids. A failing
 * update blocks later ones, so that the updates of a chat stay in order. An update is confirmed to the server only
 * after the receiver accepted it or it became a dead letter; otherwise the next run delivers it again.
 *
 * After the abort signal it finishes the delivery in flight and confirms the delivered updates.
 */
export async function deliverPolled<F>(options: PolledDeliveryOptions<F>): Promise<F | undefined> {
  const position: PollPosition = { next: undefined, confirmed: undefined, isServerAway: false }
  const failure = await deliverAll(position, options)
  // Do not confirm after a failed poll: the confirmation is itself a poll and would end another process's poll.
  if (failure !== undefined) {
    return position.next === position.confirmed ? failure : options.withSentence(failure, `The ${UNCONFIRMED}`)
  }
  if (position.isServerAway || !(await confirmDelivered(position, options))) {
    if (position.next !== position.confirmed) options.warn(`warning: the ${UNCONFIRMED}`)
  }
  return undefined
}

async function deliverAll<F>(position: PollPosition, options: PolledDeliveryOptions<F>): Promise<F | undefined> {
  const updates = pollUpdates(options, position)
  for (;;) {
    const next = await updates.next()
    if (next.done) return next.value
    const result = await deliver(next.value, position, options)
    // Without another call of next(), the position stays at this update.
    if (result === false) return undefined
    if (result === true) continue
    await confirmDelivered(position, options)
    return result
  }
}

/**
 * Attempts until the receiver accepts the update or the update becomes a dead letter.
 * @returns false if the signal aborted first
 */
async function deliver<F>(
  update: Update,
  position: PollPosition,
  options: PolledDeliveryOptions<F>,
): Promise<F | boolean> {
  const { update_id, type } = update
  const { delaysMs, attemptsMax = Number.POSITIVE_INFINITY, signal, notice } = options
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    const ending = () => notice('Ending after the delivery in flight.')
    signal.addEventListener('abort', ending, { once: true })
    const result = await options.deliver(update)
    signal.removeEventListener('abort', ending)
    if (isDelivered(result)) return true
    if (attempt >= attemptsMax) {
      const { status, error } = result
      const failure = await options.addDeadLetter({ update_id, type, attempts: attempt, status, error, update })
      if (failure !== undefined) return failure
      notice(`Update ${update_id} became a dead letter at attempt ${attempt}.`)
      return true
    }
    const waitMs = delaysMs[Math.min(attempt, delaysMs.length) - 1] as number
    const wait = waitMs < 1000 ? `${waitMs} ms` : `${waitMs / 1000} s`
    if (!signal.aborted) notice(`Update ${update_id} failed at attempt ${attempt}; the next one is in ${wait}.`)
    // Confirm the earlier updates now, because the retries of this update may take long.
    if (attempt === 1 && !signal.aborted) await confirmDelivered(position, options)
    await pause(waitMs, signal)
  }
  return false
}

async function confirmDelivered<F>(position: PollPosition, { confirm }: PolledDeliveryOptions<F>): Promise<boolean> {
  if (position.next === undefined || position.next === position.confirmed) return true
  const done = await confirm(position.next)
  if (done) position.confirmed = position.next
  return done
}
