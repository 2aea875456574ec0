import { type Op, notify, one, run } from './operation.js'

/**
 * Who polls for a bot, where several processes share a store. Times are true time, ms: a holder whose process is gone
 * ends by itself.
 */
export interface OpenPoll {
  readonly botId: string
  readonly holder: string
  readonly until: number
}

/** After the lock of the bot's queue: a newer poll takes over, and the older one is told. */
export function* takePoll({ botId, holder, until }: OpenPoll, trueNow: number): Op<void> {
  const older = yield* one('select holder from open_polls where bot_id = $1 and until > $2', [botId, trueNow])
  if (older !== undefined) yield* notify(botId)
  yield* run(
    `insert into open_polls (bot_id, holder, until) values ($1, $2, $3)
     on conflict (bot_id) do update set holder = excluded.holder, until = excluded.until`,
    [botId, holder, until],
  )
}

/** False when a newer poll has taken over. */
export function* holdsPoll({ botId, holder }: OpenPoll): Op<boolean> {
  const found = yield* one<{ holder: string }>('select holder from open_polls where bot_id = $1', [botId])
  return found === undefined || found.holder === holder
}

export function* endPoll({ botId, holder }: OpenPoll): Op<void> {
  yield* run('delete from open_polls where bot_id = $1 and holder = $2', [botId, holder])
}

export function* isPolled(botId: string, trueNow: number): Op<boolean> {
  const found = yield* one('select holder from open_polls where bot_id = $1 and until > $2', [botId, trueNow])
  return found !== undefined
}
