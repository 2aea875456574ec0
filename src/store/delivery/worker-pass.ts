import type { DeliveryRow, WebhookRow } from '../../domain/bot/rows.js'
import {
  type AttemptOutcome,
  applyAttempt,
  concernsEndpoint,
  type DeliveryState,
  type DeliveryTransition,
  LEASE_MS,
  leaseExpired,
  RETRY_DELAY_MS_MAX,
  slotsFor,
} from '../../domain/delivery.js'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { UNCONFIRMED_UPDATE_RETENTION_MS } from '../../domain/update.js'
import { aggregate, all, type Op, one, run } from '../operation.js'
import { BACKLOG_ROWS_PER_WRITE, DELIVERABLE } from './backlog.js'

export interface Attempt {
  readonly deliveryId: string
  readonly accountId: string
  readonly botId: string
  readonly updateId: number
  readonly manual: boolean
  /** State of the delivery after the claim. */
  readonly claimed: DeliveryState
  /** End of the lease in ms, by the system clock; identifies the claim of the attempt. */
  readonly leaseUntil: number
  readonly startedAt: number
  readonly body: string
  readonly webhook: WebhookRow
}

/** Result of an attempt that ended, or whose lease expired. */
interface AttemptResult {
  readonly attempt: Omit<Attempt, 'accountId' | 'body' | 'webhook'>
  readonly outcome: AttemptOutcome
  readonly endedAt: number
  /** Set if the store may already hold the attempt: a commit failed without reporting its result. */
  readonly mayBeWritten?: true
}

export interface EndedAttempt extends AttemptResult {
  readonly attempt: AttemptResult['attempt'] & { readonly webhook: Pick<WebhookRow, 'set_at'> }
  readonly ipAddress: string | null
}

/** Input of one pass of the delivery worker (runWorkerPass). */
export interface WorkerPass {
  readonly ended: readonly EndedAttempt[]
  /** Claims that may be committed: a commit failed without reporting its result. */
  readonly unconfirmed?: readonly Attempt[]
  /** Bots that may have due deliveries, with their accounts if known, in the order in which they are served. */
  readonly bots: ReadonlyMap<string, string | null>
  /** Expire leases that ended before this system time; null skips the search. */
  readonly lostBefore: number | null
  readonly room: number
  /** Attempts that each account has in flight; an unknown account (null) has none. */
  readonly held?: ReadonlyMap<string | null, number>
  readonly now: number
  /** Time in ms by the system clock, for leases. */
  readonly trueNow: number
}

export interface WorkerPassResult {
  readonly begun: readonly Attempt[]
  /** Bots that may have more due deliveries than there were free slots, or than their account's share of slots. */
  readonly waiting: ReadonlyMap<string, string | null>
  /** Bots with more expired deliveries than one pass of the worker processes. */
  readonly unfinished: readonly string[]
  /** True if more leases have expired than one pass of the worker processes. */
  readonly moreLost: boolean
  readonly nextDueAt: number | null
}

/**
 * One pass of the delivery worker: records ended attempts, expires leases, marks due deliveries and claims deliveries
 * for free slots. Runs in one transaction, so that each delivery costs one commit.
 */
export function* runWorkerPass(it: WorkerPass): Op<WorkerPassResult> {
  const bots = new Map(it.bots)
  const include = (botId: string) => bots.has(botId) || bots.set(botId, null)
  // Lock webhooks before deliveries and in a fixed order, to prevent deadlocks with calls that set webhooks.
  yield* recordEndpointHealth(it.ended)
  for (const ended of it.ended) yield* recordAttempt(ended)
  for (const { attempt } of it.ended) include(attempt.botId)
  const begun: Attempt[] = []
  const held = new Map(it.held)
  const begin = (attempt: Attempt) => {
    begun.push(attempt)
    held.set(attempt.accountId, (held.get(attempt.accountId) ?? 0) + 1)
  }
  yield* releaseClaims(it.unconfirmed ?? [])
  for (const { botId } of it.unconfirmed ?? []) include(botId)
  let moreLost = false
  if (it.lostBefore !== null) {
    const lost = yield* expireLeases(it.lostBefore, it.now)
    const fromAhead = yield* markReady('>', it.now + RETRY_DELAY_MS_MAX + PROCESS_CLOCK_SKEW_MS_MAX)
    for (const botId of [...lost, ...fromAhead]) include(botId)
    moreLost = lost.length === BACKLOG_ROWS_PER_WRITE || fromAhead.length === BACKLOG_ROWS_PER_WRITE
  }
  for (const botId of yield* markReady('<=', it.now)) include(botId)

  // An unknown account (null) counts as one without an attempt: it may take a slot while any is free.
  const shareOf = (accountId: string | null) => slotsFor(it.room - begun.length, held.get(accountId) ?? 0)
  const waiting = new Map<string, string | null>()
  const unfinished: string[] = []
  for (const [botId, accountId] of bots) {
    // Skip the reads for a bot without a free slot: it may have many pending deliveries.
    const left = shareOf(accountId) > 0 ? yield* claim(botId, it, shareOf, begin) : { waiting: accountId }
    if (left === 'expired') unfinished.push(botId)
    else if (left !== null) waiting.set(botId, left.waiting)
  }
  const { at } = yield* aggregate<{ at: number | null }>(
    "select min(next_attempt_at) as at from deliveries where status = 'failed' and ready = 0",
  )
  return { begun, waiting, unfinished, moreLost, nextDueAt: at === null ? null : Number(at) }
}

/** Returns the bots with deliveries that wait for a slot. The recursive query probes the index once per bot. */
export function* botsWithWork(): Op<string[]> {
  const bots = yield* all<{ bot_id: string | null }>(
    `with recursive bots_ready (bot_id) as (
       select min(bot_id) from deliveries where ready = 1
       union all
       select (select min(d.bot_id) from deliveries d where d.ready = 1 and d.bot_id > b.bot_id)
       from bots_ready b where b.bot_id is not null)
     select bot_id from bots_ready where bot_id is not null`,
  )
  return bots.map((it) => it.bot_id as string)
}

/**
 * Releases the unconfirmed claims that were committed, so that this pass decides about them again: the webhook may have
 * changed and the bot may be disabled since.
 */
function* releaseClaims(unconfirmed: readonly Attempt[]): Op<void> {
  for (const { deliveryId, leaseUntil, startedAt, manual, claimed } of unconfirmed) {
    yield* run(
      `update deliveries set status = $4, next_attempt_at = $5, ready = 1, lease_until = null,
         last_attempt_at = (select max(a.started_at) from delivery_attempts a where a.delivery_id = deliveries.id)
       where id = $1 and status = 'delivering' and lease_until = $2 and last_attempt_at = $3`,
      [
        deliveryId,
        leaseUntil,
        startedAt,
        manual || claimed.attempt_count === 0 ? 'pending' : 'failed',
        manual ? claimed.next_attempt_at : startedAt,
      ],
    )
  }
}

/** Records an attempt and the new state of its delivery. */
function* recordAttempt(ended: AttemptResult): Op<void> {
  const { attempt, outcome, endedAt } = ended
  const { deliveryId: id, botId } = attempt
  if (ended.mayBeWritten && (yield* isWritten(attempt))) return
  const { statusCode, error, durationMs } = outcome
  const ending = [statusCode, error?.code ?? null, error?.message ?? null] as const
  // Usually the attempt still holds its lease: write the new state without reading the row.
  const expected = applyAttempt(attempt.claimed, attempt, outcome, endedAt)
  if (expected === null || !(yield* saveTransition(attempt, expected, outcome, attempt.leaseUntil))) {
    const row = yield* one<DeliveryRow>('select * from deliveries where id = $1', [id], 'row')
    if (row === undefined) return
    const after = applyAttempt(row, attempt, outcome, endedAt)
    if (after !== null) yield* saveTransition(attempt, after, outcome, row.lease_until)
  }
  yield* run(
    `insert into delivery_attempts
       (delivery_id, number, bot_id, manual, started_at, duration_ms, status_code, error_code, error_message)
     values ($1, (select coalesce(max(number), 0) + 1 from delivery_attempts where delivery_id = $1),
       $2, $3, $4, $5, $6, $7, $8)`,
    [id, botId, attempt.manual ? 1 : 0, attempt.startedAt, durationMs, ...ending],
  )
}

function* isWritten({ deliveryId, startedAt, manual }: AttemptResult['attempt']): Op<boolean> {
  const found = yield* one(
    'select number from delivery_attempts where delivery_id = $1 and started_at = $2 and manual = $3',
    [deliveryId, startedAt, manual ? 1 : 0],
  )
  return found !== undefined
}

/** Writes the new state of a delivery unless its lease differs from `lease`; returns true if it wrote. */
function* saveTransition(
  { deliveryId: id, botId, updateId }: AttemptResult['attempt'],
  after: DeliveryTransition,
  { statusCode, error, durationMs }: AttemptOutcome,
  lease: number | null,
): Op<boolean> {
  const changed = yield* run(
    `update deliveries set status = $2, cancel_reason = $3, attempt_count = $4, manual_attempt_count = $5,
       next_attempt_at = $6, delivered_at = $7, last_status_code = $8, last_error_code = $9, last_error_message = $10,
       last_duration_ms = $11, ready = 0, resume_status = null, lease_until = null
     where id = $1 and coalesce(lease_until, 0) = $12`,
    [
      id,
      after.status,
      after.cancel_reason,
      after.attempt_count,
      after.manual_attempt_count,
      after.next_attempt_at,
      after.delivered_at,
      statusCode,
      error?.code ?? null,
      error?.message ?? null,
      durationMs,
      lease ?? 0,
    ],
  )
  if (changed > 0 && (after.status === 'delivered' || after.status === 'dead_letter')) {
    yield* run('update updates set pending = 0 where bot_id = $1 and update_id = $2 and pending = 1', [botId, updateId])
  }
  return changed > 0
}

interface EndpointHealth {
  readonly last: EndedAttempt
  readonly successAt: number | null
  readonly errorAt: number | null
  readonly errorMessage: string | null
}

/** Records the health of each endpoint from its latest attempts, unless its webhook has been replaced since. */
function* recordEndpointHealth(all: readonly EndedAttempt[]): Op<void> {
  const latest = new Map<string, EndpointHealth>()
  for (const ended of all) {
    if (!concernsEndpoint(ended.outcome)) continue
    const { attempt, outcome, endedAt } = ended
    const known = latest.get(attempt.botId) ?? { successAt: null, errorAt: null, errorMessage: null }
    const change =
      outcome.error === null ? { successAt: endedAt } : { errorAt: endedAt, errorMessage: outcome.error.message }
    latest.set(attempt.botId, { ...known, ...change, last: ended })
  }
  for (const botId of [...latest.keys()].sort()) {
    const { last, successAt, errorAt, errorMessage } = latest.get(botId) as EndpointHealth
    yield* run(
      `update webhooks set failing = $3, ip_address = coalesce($4, ip_address),
         last_success_at = coalesce($5, last_success_at), last_error_at = coalesce($6, last_error_at),
         last_error_message = coalesce($7, last_error_message)
       where bot_id = $1 and set_at = $2`,
      [
        botId,
        last.attempt.webhook.set_at,
        last.outcome.error === null ? 0 : 1,
        last.ipAddress,
        successAt,
        errorAt,
        errorMessage,
      ],
    )
  }
}

/** Records attempts with expired leases as failed; returns their bots. */
function* expireLeases(before: number, now: number): Op<string[]> {
  const lost = yield* all<DeliveryRow>(
    `select * from deliveries where lease_until is not null and (lease_until <= $1 or lease_until > $2)
     limit ${BACKLOG_ROWS_PER_WRITE}`,
    [before, Math.min(before + LEASE_MS + PROCESS_CLOCK_SKEW_MS_MAX, Number.MAX_SAFE_INTEGER)],
    'skip',
  )
  for (const row of lost) {
    const startedAt = row.last_attempt_at ?? now
    yield* recordAttempt({
      attempt: {
        deliveryId: row.id,
        botId: row.bot_id,
        updateId: row.update_id,
        manual: row.resume_status !== null,
        claimed: row,
        leaseUntil: row.lease_until as number,
        startedAt,
      },
      outcome: leaseExpired(Math.min(LEASE_MS, Math.max(0, now - startedAt))),
      endedAt: now,
    })
  }
  return lost.map((row) => row.bot_id)
}

/**
 * Marks a bounded number of failed deliveries as ready and returns their bots. `<=` selects due deliveries; `>` selects
 * deliveries scheduled further ahead than any retry, because the clock was set back.
 */
function* markReady(side: '<=' | '>', at: number): Op<string[]> {
  const due = yield* all<{ id: string; bot_id: string }>(
    `select id, bot_id from deliveries where status = 'failed' and ready = 0 and next_attempt_at ${side} $1
     order by next_attempt_at limit ${BACKLOG_ROWS_PER_WRITE}`,
    [at],
    'skip',
  )
  for (const { id } of due) yield* run('update deliveries set ready = 1 where id = $1', [id])
  return due.map((it) => it.bot_id)
}

type OnClaim = (attempt: Attempt) => void

type ReadyDelivery = Pick<DeliveryRow, 'update_id' | 'chat_key'>

/**
 * Claims due deliveries: lowest update_id first, one in flight per chat, within the webhook's connection limit
 * (DECISIONS.md#delivery-order). Claims none for a bot that is disabled or has no webhook.
 * @param shareOf returns how many more attempts an account may start
 * @returns null if the bot has no more deliveries to send now, its account if the account has used its share of slots
 */
function* claim(
  botId: string,
  { now, trueNow }: WorkerPass,
  shareOf: (accountId: string) => number,
  begin: OnClaim,
): Op<null | 'expired' | { readonly waiting: string }> {
  const webhook = yield* one<WebhookWithAccount>(
    "select w.*, b.account_id from webhooks w join bots b on b.id = w.bot_id where w.bot_id = $1 and b.status = 'active'",
    [botId],
    // Skip a bot whose deliveries another process is claiming.
    { skipOf: 'w' },
  )
  if (webhook === undefined) return null
  const { account_id: accountId } = webhook
  const share = shareOf(accountId)
  if (share <= 0) return { waiting: accountId }
  const busy = (yield* all<{ chat_key: string }>(
    'select chat_key from deliveries where bot_id = $1 and lease_until is not null',
    [botId],
  )).map((it) => it.chat_key)
  const connections = (webhook.failing === 1 ? 1 : webhook.max_connections) - busy.length
  let free = Math.min(share, connections)
  let expired = 0
  // Repeat, because some of the chosen deliveries may have expired.
  while (free > 0) {
    const chosen = yield* nextReady(botId, free, busy)
    if (chosen.length === 0) return null
    for (const ready of chosen) {
      const attempt = yield* claimDelivery(ready, webhook, now, trueNow)
      if (attempt === null) expired += 1
      else {
        begin(attempt)
        busy.push(ready.chat_key)
        free -= 1
      }
    }
    if (expired >= BACKLOG_ROWS_PER_WRITE) return 'expired'
  }
  return share < connections ? { waiting: accountId } : null
}

type WebhookWithAccount = WebhookRow & { readonly account_id: string }

/** Returns the first ready deliveries, one per chat, without busy chats. Reads only indexes. */
function* nextReady(botId: string, free: number, busy: readonly string[]): Op<ReadyDelivery[]> {
  const chats = new Set(busy)
  const chosen: ReadyDelivery[] = []
  const choose = (rows: readonly ReadyDelivery[]) => {
    for (const row of rows) {
      if (chosen.length === free || chats.has(row.chat_key)) continue
      chats.add(row.chat_key)
      chosen.push(row)
    }
  }
  const window = 2 * free + busy.length
  const first = yield* all<ReadyDelivery>(
    `select update_id, chat_key from deliveries where bot_id = $1 and ready = 1 and ${DELIVERABLE}
     order by update_id limit $2`,
    [botId, window],
    'skip',
  )
  choose(first)
  // If a few chats with long backlogs fill the window, probe the index once per chat: the known chats (busy or chosen)
  // and one more chat per free connection are enough.
  if (chosen.length < free && first.length === window) {
    choose(
      yield* all<ReadyDelivery>(
        `with recursive chats_ready (chat_key, place) as (
           select min(chat_key), 1 from deliveries where bot_id = $1 and ready = 1
           union all
           select (select min(d.chat_key) from deliveries d
                   where d.bot_id = $1 and d.ready = 1 and d.chat_key > c.chat_key), c.place + 1
           from chats_ready c where c.chat_key is not null and c.place < $2)
         select update_id, chat_key from deliveries
         where bot_id = $1 and ready = 1 and (chat_key, update_id) in (
           select c.chat_key, (select min(m.update_id) from deliveries m
                               where m.bot_id = $1 and m.ready = 1 and m.chat_key = c.chat_key and ${DELIVERABLE})
           from chats_ready c where c.chat_key is not null)
         order by update_id`,
        [botId, chats.size + free],
      ),
    )
  }
  return chosen
}

type DeliveryToClaim = DeliveryState & {
  readonly id: string
  readonly last_attempt_at: number | null
  /** Null if the update was deleted. */
  readonly body: string | null
  readonly made_at: number | null
}

/** Claims one delivery; cancels it and returns null if its update has expired. */
function* claimDelivery(
  { update_id: updateId }: ReadyDelivery,
  webhook: WebhookWithAccount,
  now: number,
  trueNow: number,
): Op<Attempt | null> {
  const { bot_id: botId } = webhook
  const row = (yield* one<DeliveryToClaim>(
    `select d.id, d.last_attempt_at, d.status, d.cancel_reason, d.attempt_count, d.manual_attempt_count,
       d.next_attempt_at, d.resume_status, d.lease_until, d.delivered_at, u.body, u.created_at as made_at
     from deliveries d left join updates u on u.bot_id = d.bot_id and u.update_id = d.update_id
     where d.bot_id = $1 and d.update_id = $2`,
    [botId, updateId],
  )) as DeliveryToClaim
  const { id, body, made_at: madeAt, ...standing } = row
  const expired = row.last_attempt_at === null && (madeAt ?? 0) <= now - UNCONFIRMED_UPDATE_RETENTION_MS
  if (!body || expired) {
    yield* run(
      `update deliveries set status = 'cancelled', cancel_reason = 'expired', ready = 0, next_attempt_at = null,
         resume_status = null
       where id = $1`,
      [id],
    )
    yield* run("update updates set pending = 0, body = '' where bot_id = $1 and update_id = $2", [botId, updateId])
    return null
  }
  const leaseUntil = trueNow + LEASE_MS
  const manual = row.resume_status !== null
  const nextAttemptAt = manual ? row.next_attempt_at : null
  yield* run(
    `update deliveries set status = 'delivering', ready = 0, lease_until = $2, last_attempt_at = $3,
       next_attempt_at = $4
     where id = $1`,
    [id, leaseUntil, now, nextAttemptAt],
  )
  return {
    deliveryId: id,
    accountId: webhook.account_id,
    botId,
    updateId,
    manual,
    claimed: { ...standing, status: 'delivering', lease_until: leaseUntil, next_attempt_at: nextAttemptAt },
    leaseUntil,
    startedAt: now,
    body,
    webhook,
  }
}
