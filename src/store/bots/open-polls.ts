import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { notify, type Op, one, run } from '../operation.js'

/**
 * The open poll of a bot, stored for other processes that share the database. After `until` (system time in ms) other
 * processes ignore the poll, because its process may have exited.
 */
export interface OpenPoll {
  readonly botId: string
  readonly holder: string
  readonly until: number
}

/** Maximum remaining ms of a poll: the longest timeout is 50 s. */
const POLL_MS_MAX = 60_000

/** Registers a poll and ends the older poll by a notice. The caller holds the lock of the bot's queue. */
export function* takePoll(poll: OpenPoll): Op<void> {
  yield* endOlder(poll.botId)
  yield* run('insert into open_polls (bot_id, holder, until) values ($1, $2, $3)', [
    poll.botId,
    poll.holder,
    poll.until,
  ])
}

/** Ends the older poll without registering a new poll, for a poll that responds immediately. */
export function* endOlder(botId: string): Op<void> {
  const ended = yield* run('delete from open_polls where bot_id = $1', [botId])
  if (ended > 0) yield* notify(botId)
}

/** False when a newer poll has replaced this poll. */
export function* holdsPoll({ botId, holder }: OpenPoll): Op<boolean> {
  const found = yield* one<{ holder: string }>('select holder from open_polls where bot_id = $1', [botId])
  return found?.holder === holder
}

export function* endPoll({ botId, holder }: OpenPoll): Op<void> {
  yield* run('delete from open_polls where bot_id = $1 and holder = $2', [botId, holder])
}

/** True if the bot has an open poll. Ignores a poll of over a minute, which means that the clock was set back. */
export function* isPolled(botId: string, trueNow: number): Op<boolean> {
  const found = yield* one('select holder from open_polls where bot_id = $1 and until > $2 and until <= $3', [
    botId,
    trueNow,
    trueNow + POLL_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX,
  ])
  return found !== undefined
}
