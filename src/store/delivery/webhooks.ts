import type { DeliveryMode, WebhookInfo, WebhookWarning } from '../../contract/webhook.js'
import type { WebhookRow } from '../../domain/bot/rows.js'
import type { RandomBytes } from '../../domain/ids.js'
import type { Keyring } from '../../domain/keyring.js'
import { seal, unseal } from '../../domain/sealing.js'
import {
  type ClearWebhook,
  decideWebhook,
  deliveryModeRecord,
  type WebhookChange,
  type WebhookRequest,
  webhookInfo,
} from '../../domain/webhook.js'
import { inserting, notify, type Op, one, type RowLock, run } from '../operation.js'
import { beginDeliveries, cancelledTo, dropAll, endDeliveries, lockQueue, waitingCount } from './backlog.js'
import { deliveryPage } from './counts.js'

const insert = inserting<WebhookRow>('webhooks')

const UNKNOWN_HEALTH = {
  failing: 0,
  ip_address: null,
  last_error_at: null,
  last_error_message: null,
  last_success_at: null,
}

interface Sealing {
  readonly keys: Keyring
  readonly random: RandomBytes
}

export function* webhookOf(botId: string, lock?: RowLock): Op<WebhookRow | null> {
  return (yield* one<WebhookRow>('select * from webhooks where bot_id = $1', [botId], lock)) ?? null
}

interface WebhookSet {
  readonly botId: string
  readonly request: WebhookRequest
  readonly dropPending: boolean
  readonly warnings: readonly WebhookWarning[]
  readonly newSecret: string
  readonly now: number
  readonly newDeliveryId: () => string
}

/**
 * Sets the webhook of a bot and creates a delivery for each pending update. A call that repeats the current settings
 * changes nothing (RULES.md#webhook-settings).
 */
export function* set(webhook: WebhookSet, sealing: Sealing): Op<DeliveryMode> {
  const { botId, request, now } = webhook
  // Every operation that adds updates locks the queue first, so no update can be added meanwhile.
  let queue = yield* lockQueue(botId)
  const was = yield* webhookOf(botId, 'row')
  const open = was === null ? null : decryptWebhook(was, sealing.keys)
  const change = decideWebhook(open, queue.allowed_updates, request, webhook.newSecret, now)
  let dropped = 0
  if (webhook.dropPending) ({ queue, dropped } = yield* dropAll(queue))
  const row = change.changed ? yield* save(webhook, was, change, sealing) : was
  if (was === null) yield* beginDeliveries(queue, webhook)
  if (change.changed || dropped > 0) yield* notify(botId)
  const state = { allowedUpdates: change.allowedUpdates, pending: yield* waitingCount(botId) }
  const record = deliveryModeRecord(row, state, dropped, webhook.warnings)
  return open === null && request.secret === undefined
    ? { ...record, one_time_secret_token: webhook.newSecret }
    : record
}

/** Decrypts URL and secret of a webhook. @throws for a row that the key ring cannot decrypt */
function decryptWebhook(row: WebhookRow, keys: Keyring): ClearWebhook {
  return {
    url: unseal(keys, row.bot_id, row.url),
    secret: unseal(keys, row.bot_id, row.secret),
    allowedIps: JSON.parse(row.allowed_ips) as string[],
    maxConnections: row.max_connections,
  }
}

function* save(
  { botId, request, now }: WebhookSet,
  was: WebhookRow | null,
  { webhook, allowedUpdates, urlChanged, oldSecretUntil }: WebhookChange,
  { keys, random }: Sealing,
): Op<WebhookRow> {
  const secretStays = was !== null && oldSecretUntil === undefined
  // Reset the health of the endpoint: a new URL means another endpoint.
  const { failing, ip_address, last_error_at, last_error_message, last_success_at } = {
    ...UNKNOWN_HEALTH,
    ...(urlChanged ? null : was),
  }
  const row: WebhookRow = {
    bot_id: botId,
    url: seal(keys, botId, webhook.url, random),
    origin: request.origin,
    secret: secretStays ? was.secret : seal(keys, botId, webhook.secret, random),
    old_secret: secretStays ? was.old_secret : oldSecretUntil == null ? null : (was?.secret ?? null),
    old_secret_until: secretStays ? was.old_secret_until : (oldSecretUntil ?? null),
    allowed_ips: JSON.stringify(webhook.allowedIps),
    max_connections: webhook.maxConnections,
    failing,
    ip_address,
    last_error_at,
    last_error_message,
    last_success_at,
    set_at: now,
  }
  yield* run('delete from webhooks where bot_id = $1', [botId])
  yield* insert(row)
  yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowedUpdates])
  return row
}

/** Removes the webhook of a bot. Undelivered updates can then be polled. Idempotent. */
export function* remove(botId: string, dropToo: boolean): Op<DeliveryMode> {
  let queue = yield* lockQueue(botId)
  let dropped = 0
  if (dropToo) ({ queue, dropped } = yield* dropAll(queue))
  const removed = yield* run('delete from webhooks where bot_id = $1', [botId])
  if (removed > 0) yield* endDeliveries(queue)
  if (removed > 0 || dropped > 0) yield* notify(botId)
  const state = { allowedUpdates: queue.allowed_updates, pending: yield* waitingCount(botId) }
  return deliveryModeRecord(null, state, dropped)
}

export function* info(botId: string, keys: Keyring, egressIps: readonly string[]): Op<WebhookInfo> {
  const row = yield* webhookOf(botId)
  const { cancelledTo: border } = yield* cancelledTo(botId)
  const queue = {
    allowedUpdates: yield* allowedUpdatesOf(botId),
    pending: yield* waitingCount(botId),
    failed: (yield* deliveryPage(botId, 'failed', border)).total,
    deadLetter: (yield* deliveryPage(botId, 'dead_letter', border)).total,
  }
  return webhookInfo(row, row === null ? null : decryptWebhook(row, keys).url, queue, egressIps)
}

export function* allowedUpdatesOf(botId: string): Op<string | null> {
  const queue = yield* one<{ allowed_updates: string | null }>(
    'select allowed_updates from update_queues where bot_id = $1',
    [botId],
  )
  return queue?.allowed_updates ?? null
}
