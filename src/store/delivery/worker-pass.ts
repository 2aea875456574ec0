import { RETRY_DELAY_MS_MAX } from '../../domain/delivery.js'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { aggregate, all, interleave, type Op, run } from '../operation.js'
import { selecting } from '../select.js'
import {
  type Attempt,
  type EndedAttempt,
  expireLeases,
  recordAttempt,
  recordEndpointHealth,
} from './attempt-results.js'
import { BACKLOG_ROWS_PER_WRITE } from './backlog.js'
import {
  type Claims,
  claimForBots,
  endLateness,
  type FreeSlots,
  POSTPONED,
  postponeClaims,
  releaseClaims,
} from './claims.js'

/** Input of one pass of the delivery worker (runWorkerPass). */
export interface WorkerPass extends FreeSlots {
  readonly ended: readonly EndedAttempt[]
  /** Claims that a fault postpones. */
  readonly postponed?: readonly Attempt[]
  /** True if earlier passes have postponed deliveries. */
  readonly hasPostponed?: boolean
  /** Claims whose commit has an unknown result. */
  readonly unconfirmed?: readonly Attempt[]
  /** Bots that may have due deliveries, with their accounts if known, in the order of service. */
  readonly bots: ReadonlyMap<string, string | null>
  /** Expire leases that ended before this system time; null skips this step. */
  readonly lostBefore: number | null
}

export interface WorkerPassResult extends Claims {
  /** True if expired leases are left for the next pass. */
  readonly moreLost: boolean
  readonly hasPostponed: boolean
  readonly nextDueAt: number | null
}

/**
 * One pass of the delivery worker: records ended attempts, expires leases, marks due deliveries and claims deliveries
 * for free slots. Runs in one transaction, so that each delivery costs one commit.
 */
export function* runWorkerPass(pass: WorkerPass): Op<WorkerPassResult> {
  const bots = new Map(pass.bots)
  const include = (botId: string) => bots.has(botId) || bots.set(botId, null)
  // Lock webhooks before deliveries and in a fixed order, to prevent deadlocks with calls that set webhooks.
  yield* recordEndpointHealth(pass.ended)
  yield* interleave(...pass.ended.map(recordAttempt))
  for (const { attempt } of pass.ended) include(attempt.botId)
  const { postponed = [] } = pass
  yield* postponeClaims(postponed, pass.now)
  for (const { botId } of postponed) include(botId)
  if (pass.hasPostponed || postponed.length > 0) {
    const answered = pass.ended.filter(({ outcome }) => outcome.statusCode !== null)
    yield* endLateness(answered, pass.now)
  }
  yield* releaseClaims(pass.unconfirmed ?? [])
  for (const { botId } of pass.unconfirmed ?? []) include(botId)
  let moreLost = false
  if (pass.lostBefore !== null) {
    const lost = yield* expireLeases(pass.lostBefore, pass.now)
    const fromAhead = yield* markReady('>', pass.now + RETRY_DELAY_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX)
    for (const botId of [...lost, ...fromAhead]) include(botId)
    moreLost = lost.length === BACKLOG_ROWS_PER_WRITE || fromAhead.length === BACKLOG_ROWS_PER_WRITE
  }
  for (const botId of yield* markReady('<=', pass.now)) include(botId)

  const claims = yield* claimForBots(bots, pass)
  const { at, late } = yield* aggregate<{ at: number | null; late: number }>(
    `select min(next_attempt_at) as at, case when exists (select 1 from deliveries where ${POSTPONED}) then 1 else 0 end as late
     from deliveries where status = 'failed' and ready = 0`,
  )
  return { ...claims, moreLost, hasPostponed: late === 1, nextDueAt: at === null ? null : Number(at) }
}

/** SQL: the bots with due deliveries, and null at the end. The recursive query probes the index once per bot. */
export const BOTS_READY = `with recursive bots_ready (bot_id) as (
       select min(bot_id) from deliveries where ready = 1
       union all
       select (select min(d.bot_id) from deliveries d where d.ready = 1 and d.bot_id > b.bot_id)
       from bots_ready b where b.bot_id is not null)`

/** Returns the bots with deliveries that wait for a slot. */
export function* botsWithWork(): Op<string[]> {
  const bots = yield* all<{ bot_id: string | null }>(
    `${BOTS_READY} select bot_id from bots_ready where bot_id is not null`,
  )
  return bots.map((it) => it.bot_id as string)
}

/**
 * Marks a bounded number of failed deliveries as ready and returns their bots. `<=` selects due deliveries; `>` selects
 * deliveries scheduled further ahead than any retry, because the clock was set back.
 */
function* markReady(side: '<=' | '>', at: number): Op<string[]> {
  const due = yield* all(
    selecting<{ id: string; bot_id: string }>()(`select id, bot_id from deliveries
     where status = 'failed' and ready = 0 and next_attempt_at ${side} $1
     order by next_attempt_at limit ${BACKLOG_ROWS_PER_WRITE}`),
    [at],
    'skip',
  )
  yield* interleave(...due.map(({ id }) => run('update deliveries set ready = 1 where id = $1', [id])))
  return due.map((it) => it.bot_id)
}
