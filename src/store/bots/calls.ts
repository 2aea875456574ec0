import type { BotMetrics } from '../../contract/bots.js'
import type { Refusal } from '../../contract/errors.js'
import {
  type CallCount,
  callMetrics,
  METRICS_MS,
  minuteOf,
  percentileOffset,
  TIMED_ATTEMPTS_MAX,
} from '../../domain/bot/metrics.js'
import { all, allLater, deleteFound, inserting, type Op } from '../operation.js'
import { selecting } from '../select.js'
import { approved } from './bots.js'

/** Counter of a bot's calls in one minute with the same method, status and code. */
export interface BotCallBucket extends CallCount {
  readonly bot_id: string
  /** Minutes since the epoch. */
  readonly minute: number
}

const addCalls = inserting<BotCallBucket>(
  'bot_calls',
  `on conflict (bot_id, minute, method, status, code) do update set calls = bot_calls.calls + excluded.calls`,
)

/** Adds to the call counters. @param buckets keyed by bot, minute, method, status and code */
export function* add(buckets: ReadonlyMap<string, BotCallBucket>): Op<void> {
  // A fixed order prevents deadlocks between processes that update the same rows.
  for (const key of [...buckets.keys()].sort()) yield* addCalls(buckets.get(key) as BotCallBucket)
}

/** Deletes up to `limit` counters that are an hour older than the metrics period; returns their number. */
export function deleteOldCalls(now: number, limit: number): Op<number> {
  const key = ['bot_id', 'minute', 'method', 'status', 'code']
  const before = minuteOf(now - METRICS_MS - 3_600_000)
  return deleteFound('bot_calls', key, 'minute < $1 order by minute limit $2', [before, limit])
}

type StoredMetrics = Omit<BotMetrics, 'quota'>

/** Reads the metrics of the 24 hours before `now`, without the minute in which the period begins. */
export function* metrics(
  accountId: string,
  botId: string,
  now: number,
): Op<StoredMetrics | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const bot = yield* approved(accountId, botId)
  if ('ok' in bot) return bot
  const since = now - METRICS_MS
  const counts = yield* callCounts(botId, minuteOf(since))
  const counted = yield* all(
    selecting<{ kind: string; n: number }>()(`select kind, cast(sum(n) as bigint) as n from bot_counts
     where bot_id = $1 and kind in ('updates', 'attempts', 'failures', 'dead') and block > $2 group by kind`),
    [botId, minuteOf(since)],
  )
  const countOf = (kind: string) => Number(counted.find((it) => it.kind === kind)?.n ?? 0)
  const [attempts, failed] = [countOf('attempts'), countOf('failures')]
  const durations = yield* latestDurations(botId, since)
  const percentile = (percent: number) => durations[percentileOffset(durations.length, percent)] ?? null
  const webhook = {
    attempts,
    delivered: attempts - failed,
    failed,
    dead_letter: countOf('dead'),
    success_rate: attempts === 0 ? null : (attempts - failed) / attempts,
    p50_ms: percentile(50),
    p95_ms: percentile(95),
  }
  return { ...callMetrics(counts), updates: countOf('updates'), webhook }
}

const MINUTES_PER_SLICE = 120
/** Minimum number of counters for which reads pause; most bots have fewer. */
const PAUSE_COUNTS_MIN = 20

/** Sums the calls of the metrics period in slices; other calls run between the slices of a bot with many counters. */
function* callCounts(botId: string, after: number): Op<CallCount[]> {
  const counts: CallCount[] = []
  for (let from = after; from <= after + minuteOf(METRICS_MS); from += MINUTES_PER_SLICE) {
    const slice = yield* allLater(
      selecting<CallCount>()(`select method, status, code, sum(calls) as calls from bot_calls
       where bot_id = $1 and minute > $2 and minute <= $3 group by method, status, code order by method, status, code`),
      [botId, from, from + MINUTES_PER_SLICE],
      counts.length >= PAUSE_COUNTS_MIN,
    )
    counts.push(...slice)
  }
  // A method that occurs only in a later slice keeps its place in the metrics.
  return counts.sort((one, next) => (orderOf(one) < orderOf(next) ? -1 : 1))
}

const orderOf = ({ method, status, code }: CallCount) => `${method} ${status} ${code}`

/** Durations of the latest attempts, shortest first; reads only an index. */
function* latestDurations(botId: string, since: number): Op<number[]> {
  const rows = yield* all<{ duration_ms: number }>(
    `select duration_ms from delivery_attempts where bot_id = $1 and started_at >= $2
     order by started_at desc limit ${TIMED_ATTEMPTS_MAX}`,
    [botId, (minuteOf(since) + 1) * 60_000],
  )
  return rows.map((it) => Number(it.duration_ms)).sort((one, next) => one - next)
}
