import type { BotMetrics } from '../contract/bots.js'
import type { Refusal } from '../contract/errors.js'
import { METRICS_MS, type CallCount, callMetrics, minuteOf, percentileOffset } from '../domain/bot-metrics.js'
import { approved } from './bots.js'
import { type Op, all, one, run } from './operation.js'

/** Calls of one bot that were answered alike within one minute. */
export interface BotCallBucket extends CallCount {
  readonly botId: string
  /** Minutes since the epoch. */
  readonly minute: number
}

export function* add(buckets: Iterable<BotCallBucket>): Op<void> {
  for (const { botId, minute, method, status, code, calls } of buckets) {
    yield* run(
      `insert into bot_calls (bot_id, minute, method, status, code, calls) values ($1, $2, $3, $4, $5, $6)
       on conflict (bot_id, minute, method, status, code) do update set calls = bot_calls.calls + excluded.calls`,
      [botId, minute, method, status, code, calls],
    )
  }
}

/** Deletes up to `limit` rows that no metrics have shown for an hour; answers how many. */
export function* forgetOldCalls(now: number, limit: number): Op<number> {
  return yield* run(
    `delete from bot_calls where (bot_id, minute, method, status, code) in (
       select bot_id, minute, method, status, code from bot_calls where minute < $1 order by minute limit $2)`,
    [minuteOf(now - METRICS_MS - 3_600_000), limit],
  )
}

type StoredMetrics = Omit<BotMetrics, 'quota'>

/** What is stored of the 24 hours before `now`; of minutes, those that began in them. */
export function* metrics(
  accountId: string,
  botId: string,
  now: number,
): Op<StoredMetrics | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const bot = yield* approved(accountId, botId)
  if ('ok' in bot) return bot
  const since = now - METRICS_MS
  const counts = yield* all<CallCount>(
    `select method, status, code, sum(calls) as calls from bot_calls where bot_id = $1 and minute > $2
     group by method, status, code order by method, status, code`,
    [botId, minuteOf(since)],
  )
  const updates = yield* one<{ n: number }>('select count(*) as n from updates where bot_id = $1 and created_at > $2', [
    botId,
    since,
  ])
  return { ...callMetrics(counts), updates: Number(updates?.n), webhook: yield* webhookMetrics(botId, since) }
}

function* webhookMetrics(botId: string, since: number): Op<BotMetrics['webhook']> {
  const counted = yield* one<{ attempts: number; delivered: number }>(
    `select count(*) as attempts, count(case when error_code is null then 1 end) as delivered
     from delivery_attempts where bot_id = $1 and started_at > $2`,
    [botId, since],
  )
  const dead = yield* one<{ n: number }>(
    `select count(distinct d.id) as n from delivery_attempts a join deliveries d on d.id = a.delivery_id
     where a.bot_id = $1 and a.started_at > $2 and d.status = 'dead_letter'`,
    [botId, since],
  )
  const [attempts, delivered] = [Number(counted?.attempts), Number(counted?.delivered)]
  return {
    attempts,
    delivered,
    failed: attempts - delivered,
    dead_letter: Number(dead?.n),
    success_rate: attempts === 0 ? null : delivered / attempts,
    p50_ms: yield* duration(botId, since, percentileOffset(attempts, 50)),
    p95_ms: yield* duration(botId, since, percentileOffset(attempts, 95)),
  }
}

function* duration(botId: string, since: number, offset: number): Op<number | null> {
  const row = yield* one<{ duration_ms: number }>(
    `select duration_ms from delivery_attempts where bot_id = $1 and started_at > $2
     order by duration_ms limit 1 offset $3`,
    [botId, since, offset],
  )
  return row === undefined ? null : Number(row.duration_ms)
}
