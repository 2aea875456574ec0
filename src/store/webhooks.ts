import type { DeliveryMode, WebhookInfo, WebhookWarning } from '../contract/webhook.js'
import type { WebhookRow } from '../domain/bot-rows.js'
import type { RandomBytes } from '../domain/ids.js'
import type { Keyring } from '../domain/keyring.js'
import { seal, unseal } from '../domain/sealing.js'
import {
  type OpenWebhook,
  type WebhookChange,
  type WebhookWish,
  decideWebhook,
  deliveryModeRecord,
  webhookInfo,
} from '../domain/webhook.js'
import { type Op, type RowLock, all, notify, one, run } from './operation.js'
import { addDelivery } from './outbox.js'

/** What sealing needs. */
export interface Sealing {
  readonly keys: Keyring
  readonly random: RandomBytes
}

/** The webhook of a bot. */
export function* webhookOf(botId: string, lock?: RowLock): Op<WebhookRow | null> {
  return (yield* one<WebhookRow>('select * from webhooks where bot_id = $1', [botId], lock)) ?? null
}

/** Until the end of the transaction no update is made for the bot, and no poll of it comes. */
export function* lockQueue(botId: string): Op<void> {
  yield* one('select bot_id from update_queues where bot_id = $1', [botId], 'row')
}

export interface WebhookSet {
  readonly botId: string
  readonly wish: WebhookWish
  readonly dropPending: boolean
  readonly warnings: readonly WebhookWarning[]
  readonly newSecret: string
  readonly now: number
  readonly newDeliveryId: () => string
}

/**
 * Sets the webhook of a bot. The same settings again change nothing (decisions.md 8, setWebhook); each update that
 * waits gets a delivery.
 */
export function* set(it: WebhookSet, sealing: Sealing): Op<DeliveryMode> {
  const { botId, wish, now } = it
  // The queue is locked first, here as everywhere: no update is made meanwhile.
  const allowedWas = yield* allowedUpdatesOf(botId, 'row')
  const was = yield* webhookOf(botId, 'row')
  const open = was === null ? null : opened(was, sealing.keys)
  const change = decideWebhook(open, allowedWas, wish, it.newSecret, now)
  const droppedUpdates = it.dropPending ? yield* dropPending(botId) : 0
  const row = change.changed || was === null ? yield* save(it, was, change, sealing) : was
  if (was === null) yield* deliverPending(it)
  if (change.changed || droppedUpdates > 0) yield* notify(botId)
  const queue = { allowedUpdates: change.allowedUpdates, pending: yield* pendingCount(botId) }
  const record = deliveryModeRecord(row, queue, droppedUpdates, it.warnings)
  return open === null && wish.secret === undefined ? { ...record, one_time_secret_token: it.newSecret } : record
}

/** In clear. @throws for a row that this key ring does not open */
export function opened(row: WebhookRow, keys: Keyring): OpenWebhook {
  return {
    url: unseal(keys, row.bot_id, row.url),
    secret: unseal(keys, row.bot_id, row.secret),
    allowedIps: JSON.parse(row.allowed_ips) as string[],
    maxConnections: row.max_connections,
  }
}

function* save(
  { botId, wish, now }: WebhookSet,
  was: WebhookRow | null,
  { webhook, allowedUpdates, urlChanged, oldSecretUntil }: WebhookChange,
  { keys, random }: Sealing,
): Op<WebhookRow> {
  const secretStays = was !== null && oldSecretUntil === undefined
  // Another URL is another endpoint: nothing is known of it.
  const health =
    was === null || urlChanged
      ? { failing: 0, ip_address: null, last_error_at: null, last_error_message: null, last_success_at: null }
      : was
  const row: WebhookRow = {
    bot_id: botId,
    url: seal(keys, botId, webhook.url, random),
    origin: wish.origin,
    secret: secretStays ? was.secret : seal(keys, botId, webhook.secret, random),
    old_secret: secretStays ? was.old_secret : oldSecretUntil == null ? null : (was?.secret ?? null),
    old_secret_until: secretStays ? was.old_secret_until : (oldSecretUntil ?? null),
    allowed_ips: JSON.stringify(webhook.allowedIps),
    max_connections: webhook.maxConnections,
    failing: health.failing,
    ip_address: health.ip_address,
    last_error_at: health.last_error_at,
    last_error_message: health.last_error_message,
    last_success_at: health.last_success_at,
    set_at: now,
  }
  yield* run('delete from webhooks where bot_id = $1', [botId])
  yield* run(
    `insert into webhooks (bot_id, url, origin, secret, old_secret, old_secret_until, allowed_ips, max_connections,
       failing, ip_address, last_error_at, last_error_message, last_success_at, set_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      row.bot_id,
      row.url,
      row.origin,
      row.secret,
      row.old_secret,
      row.old_secret_until,
      row.allowed_ips,
      row.max_connections,
      row.failing,
      row.ip_address,
      row.last_error_at,
      row.last_error_message,
      row.last_success_at,
      row.set_at,
    ],
  )
  yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowedUpdates])
  return row
}

/** A delivery for each update that waits; one that was cancelled begins anew. */
function* deliverPending({ botId, now, newDeliveryId }: WebhookSet): Op<void> {
  yield* run(
    `update deliveries set status = 'pending', cancel_reason = null, attempt_count = 0, next_attempt_at = $2, ready = 1
     where bot_id = $1 and status = 'cancelled'
       and update_id in (select update_id from updates where bot_id = $1 and pending = 1)`,
    [botId, now],
  )
  const updates = yield* all<{ update_id: number; type: string; chat_id: string | null }>(
    `select u.update_id, u.type, u.chat_id from updates u
     where u.bot_id = $1 and u.pending = 1
       and not exists (select 1 from deliveries d where d.bot_id = $1 and d.update_id = u.update_id)
     order by u.update_id`,
    [botId],
  )
  for (const { update_id: updateId, type, chat_id: chatId } of updates) {
    yield* addDelivery({ id: newDeliveryId(), botId, updateId: Number(updateId), type, chatId, now })
  }
}

/** Ends the deliveries of a bot; what was not delivered can be polled again. Answers alike when there were none. */
export function* remove(botId: string, dropToo: boolean): Op<DeliveryMode> {
  const allowedUpdates = yield* allowedUpdatesOf(botId, 'row')
  const droppedUpdates = dropToo ? yield* dropPending(botId) : 0
  const removed = yield* run('delete from webhooks where bot_id = $1', [botId])
  if (removed > 0) {
    // A retry by hand of what had already come to its end leaves it there.
    yield* run(
      `update deliveries set status = resume_status, resume_status = null, ready = 0, lease_until = null
       where bot_id = $1 and status in ('pending', 'delivering') and resume_status in ('dead_letter', 'delivered')`,
      [botId],
    )
    yield* run(
      `update deliveries set status = 'cancelled', cancel_reason = 'webhook_deleted', ready = 0,
         next_attempt_at = null, lease_until = null, resume_status = null
       where bot_id = $1 and status in ('pending', 'delivering', 'failed')`,
      [botId],
    )
  }
  if (removed > 0 || droppedUpdates > 0) yield* notify(botId)
  const queue = { allowedUpdates, pending: yield* pendingCount(botId) }
  return deliveryModeRecord(null, queue, droppedUpdates)
}

/** Drops the updates that wait, with their deliveries; answers how many. */
function* dropPending(botId: string): Op<number> {
  yield* run(
    `update deliveries set status = 'cancelled', cancel_reason = 'dropped', ready = 0, next_attempt_at = null,
       lease_until = null, resume_status = null
     where bot_id = $1 and update_id in (select update_id from updates where bot_id = $1 and pending = 1)`,
    [botId],
  )
  return yield* run("update updates set pending = 0, body = '' where bot_id = $1 and pending = 1", [botId])
}

export function* info(botId: string, keys: Keyring, egressIps: readonly string[]): Op<WebhookInfo> {
  const row = yield* webhookOf(botId)
  const counted = yield* all<{ status: 'failed' | 'dead_letter'; n: number }>(
    `select status, count(*) as n from deliveries
     where bot_id = $1 and status in ('failed', 'dead_letter') group by status`,
    [botId],
  )
  const countOf = (status: string) => Number(counted.find((it) => it.status === status)?.n ?? 0)
  const queue = {
    allowedUpdates: yield* allowedUpdatesOf(botId),
    pending: yield* pendingCount(botId),
    failed: countOf('failed'),
    deadLetter: countOf('dead_letter'),
  }
  return webhookInfo(row, row === null ? null : opened(row, keys).url, queue, egressIps)
}

function* allowedUpdatesOf(botId: string, lock?: RowLock): Op<string | null> {
  const queue = yield* one<{ allowed_updates: string | null }>(
    'select allowed_updates from update_queues where bot_id = $1',
    [botId],
    lock,
  )
  return queue?.allowed_updates ?? null
}

function* pendingCount(botId: string): Op<number> {
  const counted = yield* one<{ n: number }>('select count(*) as n from updates where bot_id = $1 and pending = 1', [
    botId,
  ])
  return Number(counted?.n ?? 0)
}
