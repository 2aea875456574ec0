import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { notify, type Op, one, run } from '../operation.js'

/**
 * The open poll of a bot, for several processes that share a store. `until` is system time, ms: the poll of a process
 * that has exited expires.
 */
export interface OpenPoll {
  readonly botId: string
  readonly holder: string
  readonly until: number
}

/** Upper bound of a poll: the longest timeout is 50 s. */
const POLL_MS_MAX = 60_000

/** Registers a poll and notifies the older one, which ends. The caller holds the lock of the bot's queue. */
export function* takePoll(poll: OpenPoll): Op<void> {
  yield* endOlder(poll.botId)
  yield* run('insert into open_polls (bot_id, holder, until) values ($1, $2, $3)', [
    poll.botId,
    poll.holder,
    poll.until,
  ])
}

/** takePoll for a poll that responds immediately: ends the older poll without registering a new one. */
export function* endOlder(botId: string): Op<void> {
  const ended = yield* run('delete from open_polls where bot_id = $1', [botId])
  if (ended > 0) yield* notify(botId)
}

/** False when a newer poll has taken over. */
export function* holdsPoll({ botId, holder }: OpenPoll): Op<boolean> {
  const found = yield* one<{ holder: string }>('select holder from open_polls where bot_id = $1', [botId])
  return found?.holder === holder
}

export function* endPoll({ botId, holder }: OpenPoll): Op<void> {
  yield* run('delete from open_polls where bot_id = $1 and holder = $2', [botId, holder])
}

/** Ignores a poll that ends later than any poll can: its clock has been set back since. */
export function* isPolled(botId: string, trueNow: number): Op<boolean> {
  const found = yield* one('select holder from open_polls where bot_id = $1 and until > $2 and until <= $3', [
    botId,
    trueNow,
    trueNow + POLL_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX,
  ])
  return found !== undefined
}
