import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { notify, type Op, one, run } from '../operation.js'

/**
 * Who polls for a bot, where several processes share a store. Times are true time, ms: a holder whose process is gone
 * ends by itself.
 */
export interface OpenPoll {
  readonly botId: string
  readonly holder: string
  readonly until: number
}

/** Of the longest poll, and more. */
const POLL_MS_MAX = 60_000

/** After the lock of the bot's queue: a newer poll takes over, and the older one is told. */
export function* takePoll(poll: OpenPoll): Op<void> {
  yield* endOlder(poll.botId)
  yield* run('insert into open_polls (bot_id, holder, until) values ($1, $2, $3)', [
    poll.botId,
    poll.holder,
    poll.until,
  ])
}

/** As takePoll, for one that is answered at once: it ends the older one, and holds nothing. */
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

/** A poll whose end lies further ahead than polls last was written by a clock that has been set back since. */
export function* isPolled(botId: string, trueNow: number): Op<boolean> {
  const found = yield* one('select holder from open_polls where bot_id = $1 and until > $2 and until <= $3', [
    botId,
    trueNow,
    trueNow + POLL_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX,
  ])
  return found !== undefined
}
