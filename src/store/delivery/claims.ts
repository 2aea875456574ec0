import type { DeliveryRow, WebhookRow } from '../../domain/bot/rows.js'
import { type DeliveryState, LEASE_MS, slotsFor } from '../../domain/delivery.js'
import { UNCONFIRMED_UPDATE_RETENTION_MS } from '../../domain/update.js'
import { all, interleave, type Op, one, run, runEach, type Value } from '../operation.js'
import { selecting } from '../select.js'
import type { Attempt, EndedAttempt } from './attempt-results.js'
import { BACKLOG_ROWS_PER_WRITE, DELIVERABLE, NO_CHAT } from './backlog.js'
import { IN_FLIGHT } from './counts.js'

/** Free slots for attempts, and the present time. */
export interface FreeSlots {
  readonly room: number
  /** Number of attempts in flight per account; an unknown account (null) has none. */
  readonly held?: ReadonlyMap<string | null, number>
  readonly now: number
  /** Time in ms by the system clock, for leases. */
  readonly trueNow: number
}

export interface Claims {
  readonly begun: readonly Attempt[]
  /** Bots that may have more due deliveries than the free slots or their account's share allowed. */
  readonly waiting: ReadonlyMap<string, string | null>
  /** Bots with expired deliveries left for the next pass. */
  readonly unfinished: readonly string[]
}

/** Claims due deliveries for free slots, bot by bot in the order of `bots`. */
export function* claimForBots(bots: ReadonlyMap<string, string | null>, slots: FreeSlots): Op<Claims> {
  const begun: Attempt[] = []
  const held = new Map(slots.held)
  const begin = (attempt: Attempt) => {
    begun.push(attempt)
    held.set(attempt.accountId, (held.get(attempt.accountId) ?? 0) + 1)
  }
  // An unknown account (null) counts as one without attempts: it may take any free slot.
  const shareOf = (accountId: string | null) => slotsFor(slots.room - begun.length, held.get(accountId) ?? 0)
  const waiting = new Map<string, string | null>()
  const unfinished: string[] = []
  for (const [botId, accountId] of bots) {
    // Skip the reads for a bot without a slot: it may have many pending deliveries.
    const left = shareOf(accountId) > 0 ? yield* claim(botId, slots, shareOf, begin) : { waiting: accountId }
    if (left === 'expired') unfinished.push(botId)
    else if (left !== null) waiting.set(botId, left.waiting)
  }
  return { begun, waiting, unfinished }
}

/**
 * Releases unconfirmed claims that were committed, so that this pass decides again: meanwhile the webhook may have
 * changed and the bot may be disabled.
 */
export function* releaseClaims(unconfirmed: readonly Attempt[]): Op<void> {
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

/** Maximum delay of a late delivery, by the server's clock (rules/operator.md#faults-of-deliveries). */
const LATE_MS = 10_000

const POSTPONED_CODE = 'postponed'

/** SQL for deliveries that a fault has postponed. */
export const POSTPONED = `status = 'failed' and ready = 0 and last_error_code = '${POSTPONED_CODE}'`

/** Gives claims back without an attempt. */
export function* postponeClaims(claims: readonly Attempt[], now: number): Op<void> {
  yield* runEach(
    `update deliveries set status = 'failed', next_attempt_at = $4, lease_until = null,
       last_error_code = '${POSTPONED_CODE}', last_error_message = 'A planted fault makes this delivery late.',
       last_attempt_at = (select max(a.started_at) from delivery_attempts a where a.delivery_id = deliveries.id)
     where id = $1 and status = 'delivering' and lease_until = $2 and last_attempt_at = $3`,
    claims.map((it) => [it.deliveryId, it.leaseUntil, it.startedAt, now + LATE_MS]),
  )
}

/** Makes postponed deliveries due that precede an answered one of their chat, or one without a chat like them. */
export function* endLateness(answered: readonly Pick<EndedAttempt, 'attempt'>[], now: number): Op<void> {
  const last = new Map<string, readonly Value[]>()
  const attempts = answered.map((it) => it.attempt).sort((a, b) => a.updateId - b.updateId)
  for (const { botId, chatKey, updateId } of attempts) {
    const [from, to] = chatKey.startsWith(NO_CHAT) ? [NO_CHAT, `${NO_CHAT}:`] : [chatKey, chatKey]
    last.set(`${botId} ${from}`, [botId, from, to, updateId, now])
  }
  yield* runEach(
    `update deliveries set next_attempt_at = $5
     where bot_id = $1 and chat_key >= $2 and chat_key <= $3 and update_id < $4 and next_attempt_at > $5 and ${POSTPONED}`,
    [...last.values()],
  )
}

type WebhookWithAccount = WebhookRow & { readonly account_id: string }

const WEBHOOK_TO_CALL = selecting<{ readonly account_id: string }, WebhookRow>()(
  `select w.*, b.account_id from webhooks w join bots b on b.id = w.bot_id
   where w.bot_id = $1 and b.status = 'active'`,
)

type ReadyDelivery = Pick<DeliveryRow, 'update_id' | 'chat_key'>

/**
 * Claims due deliveries: lowest update_id first, one in flight per chat, within the webhook's connection limit
 * (rules/webhooks.md#delivery-order). Claims none for a bot that is disabled or has no webhook.
 * @param shareOf returns how many more attempts an account may start
 * @returns null if the bot has no more deliveries to send now, its account if the account has used its share of slots
 */
function* claim(
  botId: string,
  { now, trueNow }: FreeSlots,
  shareOf: (accountId: string) => number,
  begin: (attempt: Attempt) => void,
): Op<null | 'expired' | { readonly waiting: string }> {
  // Skip a bot whose deliveries another process is claiming.
  const webhook = yield* one(WEBHOOK_TO_CALL, [botId], { skipOf: 'w' })
  if (webhook === undefined) return null
  const { account_id: accountId } = webhook
  const share = shareOf(accountId)
  if (share <= 0) return { waiting: accountId }
  const inFlight = `select chat_key from deliveries where bot_id = $1 and ${IN_FLIGHT}`
  const busy = (yield* all<{ chat_key: string }>(inFlight, [botId])).map((it) => it.chat_key)
  const connections = (webhook.failing === 1 ? 1 : webhook.max_connections) - busy.length
  let free = Math.min(share, connections)
  let expired = 0
  // Repeat, because some of the chosen deliveries may have expired.
  while (free > 0) {
    const chosen = yield* nextReady(botId, free, busy)
    if (chosen.length === 0) return null
    const attempts = yield* interleave(...chosen.map((it) => claimDelivery(it, webhook, now, trueNow)))
    for (const [index, attempt] of attempts.entries()) {
      if (attempt === null) expired += 1
      else {
        begin(attempt)
        busy.push((chosen[index] as ReadyDelivery).chat_key)
        free -= 1
      }
    }
    if (expired >= BACKLOG_ROWS_PER_WRITE) return 'expired'
  }
  return share < connections ? { waiting: accountId } : null
}

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
  const first = yield* all(
    selecting<ReadyDelivery>()(`select update_id, chat_key from deliveries
     where bot_id = $1 and ready = 1 and ${DELIVERABLE} order by update_id limit $2`),
    [botId, window],
    'skip',
  )
  choose(first)
  // If a few chats with long backlogs fill the window, probe the index once per chat. The known chats (busy or chosen),
  // and one more per free connection, are enough.
  if (chosen.length < free && first.length === window) {
    choose(
      yield* all(
        selecting<ReadyDelivery>()(`with recursive chats_ready (chat_key, place) as (
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
         order by update_id`),
        [botId, chats.size + free],
      ),
    )
  }
  return chosen
}

type DeliveryToClaim = DeliveryState & {
  readonly id: string
  readonly last_attempt_at: number | null
  readonly last_error_code: string | null
  /** Null if the update was deleted. */
  readonly body: string | null
  readonly made_at: number | null
}

const TO_CLAIM = selecting<DeliveryToClaim>()(
  `select d.id, d.last_attempt_at, d.last_error_code, d.status, d.cancel_reason, d.attempt_count, d.manual_attempt_count,
     d.next_attempt_at, d.resume_status, d.lease_until, d.delivered_at, u.body, u.created_at as made_at
   from deliveries d left join updates u on u.bot_id = d.bot_id and u.update_id = d.update_id
   where d.bot_id = $1 and d.update_id = $2`,
)

/** Claims one delivery; cancels it and returns null if its update has expired. */
function* claimDelivery(
  { update_id: updateId, chat_key: chatKey }: ReadyDelivery,
  webhook: WebhookWithAccount,
  now: number,
  trueNow: number,
): Op<Attempt | null> {
  const { bot_id: botId } = webhook
  const row = (yield* one(TO_CLAIM, [botId, updateId])) as DeliveryToClaim
  const { id, body, made_at: madeAt, last_error_code: errorCode, ...standing } = row
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
    chatKey,
    manual,
    wasPostponed: errorCode === POSTPONED_CODE,
    claimed: { ...standing, status: 'delivering', lease_until: leaseUntil, next_attempt_at: nextAttemptAt },
    leaseUntil,
    startedAt: now,
    body,
    webhook,
  }
}
