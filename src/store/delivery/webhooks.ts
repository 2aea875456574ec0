import { type Refusal, refuse } from '../../contract/errors.js'
import type { DeliveryMode, WebhookInfo, WebhookWarning } from '../../contract/webhook.js'
import type { WebhookLease, WebhookRow } from '../../domain/bot/rows.js'
import type { RandomBytes } from '../../domain/ids.js'
import type { Keyring } from '../../domain/keyring.js'
import { seal, unseal } from '../../domain/sealing.js'
import {
  type ClearWebhook,
  DEFAULT_MAX_CONNECTIONS,
  decideWebhook,
  deliveryModeRecord,
  type WebhookChange,
  type WebhookRequest,
  webhookInfo,
} from '../../domain/webhook.js'
import { all, inserting, notify, type Op, one, type RowLock, run } from '../operation.js'
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

const leaseOf = (row: WebhookRow | null): WebhookLease | null =>
  row?.lease == null ? null : (JSON.parse(row.lease) as WebhookLease)

/** Returns the settings of the owner, which a lease only replaces for a time. */
export const ownSettings = (row: WebhookRow | null): WebhookRow | null => {
  const lease = leaseOf(row)
  return lease === null ? row : lease.kept
}

function* keep(botId: string, lease: WebhookLease, kept: WebhookRow | null): Op<void> {
  yield* run('update webhooks set lease = $2 where bot_id = $1', [botId, JSON.stringify({ ...lease, kept })])
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
 * changes nothing (rules/webhooks.md#webhook-settings).
 */
export function* set(webhook: WebhookSet, sealing: Sealing): Op<DeliveryMode> {
  const { botId, request, now } = webhook
  // Every operation that adds updates locks the queue first, so no update can be added meanwhile.
  let queue = yield* lockQueue(botId)
  const inEffect = yield* webhookOf(botId, 'row')
  const was = ownSettings(inEffect)
  const open = was === null ? null : decryptWebhook(was, sealing.keys)
  const change = decideWebhook(open, queue.allowed_updates, request, webhook.newSecret, now)
  let dropped = 0
  if (webhook.dropPending) ({ queue, dropped } = yield* dropAll(queue))
  const row = change.changed ? yield* save(webhook, was, change, sealing, leaseOf(inEffect)) : was
  if (inEffect === null) yield* beginDeliveries(queue, webhook)
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
  lease: WebhookLease | null,
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
    lease: null,
    lease_until: null,
  }
  yield* lease === null ? replace(row) : keep(botId, lease, row)
  yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowedUpdates])
  return row
}

function* replace(row: WebhookRow): Op<void> {
  yield* run('delete from webhooks where bot_id = $1', [row.bot_id])
  yield* insert(row)
}

/** Removes the webhook of a bot. Undelivered updates can then be polled. Idempotent. */
export function* remove(botId: string, dropToo: boolean): Op<DeliveryMode> {
  let queue = yield* lockQueue(botId)
  let dropped = 0
  if (dropToo) ({ queue, dropped } = yield* dropAll(queue))
  const lease = leaseOf(yield* webhookOf(botId))
  if (lease !== null) yield* keep(botId, lease, null)
  const removed = yield* run('delete from webhooks where bot_id = $1 and lease is null', [botId])
  if (removed > 0) yield* endDeliveries(queue)
  if (removed > 0 || dropped > 0) yield* notify(botId)
  const state = { allowedUpdates: queue.allowed_updates, pending: yield* waitingCount(botId) }
  return deliveryModeRecord(null, state, dropped)
}

export interface Borrowing extends Pick<WebhookSet, 'botId' | 'now' | 'newDeliveryId'> {
  readonly leaseId: string
  readonly holder: string
  readonly url: string
  readonly secret: string
  /** Present time and end of the lease, system time. */
  readonly leaseNow: number
  readonly until: number
}

/** Lends the webhook of a bot to a listener, or renews its lease (rules/webhooks.md#borrowed-webhooks). */
export function* borrow(call: Borrowing, { keys, random }: Sealing): Op<null | Refusal<'WEBHOOK_BORROWED'>> {
  const { botId, leaseId, holder, url, now, until } = call
  const queue = yield* lockQueue(botId)
  const inEffect = yield* webhookOf(botId, 'row')
  const lease = leaseOf(inEffect)
  if (lease?.id === leaseId) {
    yield* run('update webhooks set lease_until = $2 where bot_id = $1', [botId, until])
    return null
  }
  if (lease !== null && (inEffect?.lease_until ?? 0) > call.leaseNow) {
    return refuse('WEBHOOK_BORROWED', { holder: lease.holder, url: inEffect?.origin })
  }
  const kept = ownSettings(inEffect)
  yield* replace({
    ...UNKNOWN_HEALTH,
    bot_id: botId,
    url: seal(keys, botId, url, random),
    origin: new URL(url).origin,
    secret: seal(keys, botId, call.secret, random),
    old_secret: null,
    old_secret_until: null,
    allowed_ips: '[]',
    max_connections: kept?.max_connections ?? DEFAULT_MAX_CONNECTIONS,
    set_at: now,
    lease: JSON.stringify({ id: leaseId, holder, kept } satisfies WebhookLease),
    lease_until: until,
  })
  if (inEffect === null) yield* beginDeliveries(queue, call)
  yield* notify(botId)
  return null
}

/** Puts the settings of the owner back. @returns false if the lease is not in effect */
export function* giveBack(botId: string, isEnded: (lease: WebhookLease, until: number) => boolean): Op<boolean> {
  const queue = yield* lockQueue(botId)
  const inEffect = yield* webhookOf(botId, 'row')
  const lease = leaseOf(inEffect)
  if (lease === null || !isEnded(lease, inEffect?.lease_until ?? 0)) return false
  yield* run('delete from webhooks where bot_id = $1', [botId])
  yield* lease.kept === null ? endDeliveries(queue) : insert(lease.kept)
  yield* notify(botId)
  return true
}

/** Ends leases that their listeners did not renew. @returns their number */
export function* endExpiredLeases(leaseNow: number): Op<number> {
  const sql = 'select bot_id from webhooks where lease_until <= $1 order by lease_until limit 10'
  const found = yield* all<{ bot_id: string }>(sql, [leaseNow])
  for (const { bot_id } of found) yield* giveBack(bot_id, (_, until) => until <= leaseNow)
  return found.length
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
