import type { Update } from '../../../contract/updates.js'
import type { PollingOptions, PollPosition } from '../../../workbench/polling.js'
import { pollUpdates } from '../../../workbench/polling.js'
import type { Failure } from '../../failure.js'
import type { PollResult } from './polling.js'
import { inWords, polledOf } from './polling.js'

export interface Following extends Pick<PollingOptions<Failure>, 'signal' | 'reconnectMs' | 'paceMs' | 'asksToHold'> {
  /** Reads what waits from an update on, which confirms those before it. */
  poll(from: number | undefined): Promise<PollResult>
  /** Confirms the updates before this one at once, after the signal. */
  confirm(before: number): Promise<PollResult>
  /** The server is away, or is back. */
  notice(text: string): void
  /** What must be done so that nothing comes twice. */
  warn(text: string): void
}

/**
 * Each update once it is there. The next poll confirms what was handed over, and after the signal a last call does, so
 * that the next run goes on where this one ended. A reader that has gone asks for nothing more: what it was handed
 * since the last poll is not confirmed and comes again.
 *
 * A server that was there and is away is waited for; one that never answered is a failure at once.
 */
export async function* follow(
  { poll, confirm, warn, ...following }: Following,
  offset: number | undefined,
): AsyncGenerator<Update, Failure | undefined> {
  const position: PollPosition = { next: offset, confirmed: offset, isServerAway: false }
  const polling = {
    poll: async (from: number | undefined) => polledOf(await poll(from), from),
    inWords,
    ...following,
  }
  const failure = yield* pollUpdates(polling, position, async function* (update) {
    yield update
    position.next = update.update_id + 1
    return undefined
  })
  const { next, confirmed } = position
  if (failure !== undefined) return resumable(failure, next, confirmed)
  if (next === undefined || next === confirmed) return undefined
  const last = await confirm(next)
  if (!last.ok) warn(`warning: the last updates could not be confirmed. ${goOn(next)}`)
  return undefined
}

const goOn = (next: number) => `Go on with --offset ${next}, or they may come again.`

function resumable(failure: Failure, next: number | undefined, confirmed: number | undefined): Failure {
  if (next === undefined || next === confirmed) return failure
  const hint = [failure.hint, 'The last updates may not be confirmed.', goOn(next)]
    .filter((it) => it !== null)
    .join(' ')
  return { ...failure, hint, details: { ...failure.details, next_offset: next } }
}
