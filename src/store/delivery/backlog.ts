import type { UpdateQueueRow } from '../../domain/bot/rows.js'
import { all, notify, type Op, one, run, runEach } from '../operation.js'
import { selecting } from '../select.js'
import { countedTotal, DELIVERY_KIND, IN_FLIGHT } from './counts.js'

/**
 * Changes to all pending updates of a bot. The transaction of the API call sets markers in the bot's queue, which makes
 * the change effective, and updates the first rows. Later transactions of the same size update the backlog: all other
 * rows. Every reader of pending updates or their deliveries must apply the markers.
 */

/** Rows per transaction: more would take longer than a few milliseconds on either engine. */
export const BACKLOG_ROWS_PER_WRITE = 200

/** Subject of the notice that a bot has a backlog. */
export const BACKLOG = 'backlog'

/** SQL: true for an update with a delivery attempt. Such an update keeps its body for a retry and does not expire. */
export const attempted = (
  update: string,
): string => `exists (select 1 from deliveries d where d.bot_id = ${update}.bot_id
  and d.update_id = ${update}.update_id and (d.last_attempt_at is not null or d.status = 'delivering'))`

/** SQL: true for pending updates of bot $1. */
export const WAITING = `pending = 1
  and update_id > (select coalesce(confirmed_to, 0) from update_queues where bot_id = $1)`

/** SQL: true for deliveries of bot $1 that may be sent to the current webhook. */
export const DELIVERABLE = `update_id > (select coalesce(confirmed_to, 0) from update_queues where bot_id = $1)
  and update_id <= (select coalesce(switched_to, last_update_id) from update_queues where bot_id = $1)`

/** SQL: false for a manual retry of a delivered or dead delivery, whose update is not pending. */
const IS_FIRST_ROUND = `(resume_status is null or resume_status = 'failed')`

/** SQL parameters: $1 is the bot, $2 the reason. */
const CANCEL = `update deliveries set status = 'cancelled', cancel_reason = $2, ready = 0, next_attempt_at = null,
  lease_until = null, resume_status = null where bot_id = $1`

/** SQL parameters: $1 is the id, $2 the bot, $3 the update, $4 its type, $5 the chat key, $6 the time. */
export const INSERT_DELIVERY = `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status,
    attempt_count, manual_attempt_count, created_at, next_attempt_at, ready)
  values ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $6, 1)`

type CancelReason = 'dropped' | 'webhook_deleted'

interface DeliveryMaker {
  readonly now: number
  readonly newDeliveryId: () => string
}

/** Locks the bot's queue until the transaction ends: no update, poll or backlog can change the queue meanwhile. */
export function* lockQueue(botId: string): Op<UpdateQueueRow> {
  return (yield* one<UpdateQueueRow>('select * from update_queues where bot_id = $1', [botId], 'row')) as UpdateQueueRow
}

export function* hasWebhook(botId: string): Op<boolean> {
  return (yield* one('select 1 as found from webhooks where bot_id = $1', [botId])) !== undefined
}

export function* waitingCount(botId: string): Op<number> {
  const queue = yield* one<UpdateQueueRow>('select * from update_queues where bot_id = $1', [botId])
  return yield* countedTotal(botId, { kind: 'waiting', side: '>', id: queue?.confirmed_to ?? 0 })
}

/** Confirms all updates up to an id. @param queue locked queue of a bot without a webhook */
export function* confirmTo(queue: UpdateQueueRow, updateId: number): Op<void> {
  const confirmedTo = Math.max(queue.confirmed_to ?? 0, updateId)
  const { after } = yield* applyConfirmed({ ...queue, confirmed_to: confirmedTo }, hasBacklog(queue))
  yield* saveMarkers(queue, after)
}

/** Drops all pending updates and their deliveries. @param queue locked @returns the changed queue and a number */
export function* dropAll(queue: UpdateQueueRow): Op<{ readonly queue: UpdateQueueRow; readonly dropped: number }> {
  const { bot_id: botId, last_update_id: lastUpdateId } = queue
  const dropped = yield* waitingCount(botId)
  if (dropped === 0) return { queue, dropped }
  yield* cancelInFlight(botId, 'dropped')
  const marked = { ...queue, confirmed_to: lastUpdateId, dropped_to: lastUpdateId }
  const { after } = yield* applyConfirmed(marked, true)
  yield* saveMarkers(queue, after)
  return { queue: after, dropped }
}

/** Creates a delivery for each pending update and restarts cancelled deliveries. @param queue locked */
export function* beginDeliveries(queue: UpdateQueueRow, maker: DeliveryMaker): Op<void> {
  yield* saveMarkers(queue, yield* applySwitched({ ...queue, switched_to: 0 }, maker, BACKLOG_ROWS_PER_WRITE))
}

/** Cancels the deliveries of pending updates; a manual retry restores the earlier status. @param queue locked */
export function* endDeliveries(queue: UpdateQueueRow): Op<void> {
  const { bot_id: botId } = queue
  yield* run(
    `update deliveries set status = resume_status, resume_status = null, ready = 0, lease_until = null
     where bot_id = $1 and ${DELIVERY_KIND} = 'manual'`,
    [botId],
  )
  yield* cancelInFlight(botId, 'webhook_deleted')
  yield* saveMarkers(queue, yield* applySwitched({ ...queue, switched_to: 0 }, null, BACKLOG_ROWS_PER_WRITE))
}

export interface CancelledTo {
  /** Pending deliveries up to this id count as cancelled, even before their rows are updated. */
  readonly cancelledTo: number
  /** Cancelled deliveries up to this id have the reason `dropped`. */
  readonly droppedTo: number
}

export function* cancelledTo(botId: string): Op<CancelledTo> {
  const found = yield* one(
    selecting<{ called: string | null }, UpdateQueueRow>()(`select q.*, w.bot_id as called from update_queues q
     left join webhooks w on w.bot_id = q.bot_id where q.bot_id = $1`),
    [botId],
  )
  if (found === undefined) return { cancelledTo: 0, droppedTo: 0 }
  return {
    cancelledTo: found.called === null ? found.last_update_id : (found.confirmed_to ?? 0),
    droppedTo: found.dropped_to ?? 0,
  }
}

/**
 * Applies part of one bot's backlog. Chooses the bot with the fewest updates left, so that a long backlog does not
 * delay shorter ones. @returns 0 if no bot has a backlog, otherwise BACKLOG_ROWS_PER_WRITE
 */
export function* applyBacklog(maker: DeliveryMaker): Op<number> {
  const queue = yield* one<UpdateQueueRow>(
    `select * from update_queues where coalesce(confirmed_to, switched_to) is not null
     order by last_update_id - coalesce(switched_to, 0), bot_id limit 1`,
    [],
    'row',
  )
  if (queue === undefined) return 0
  const { bot_id: botId } = queue
  const { after: confirmed, left } = yield* applyConfirmed(queue, true)
  let after = confirmed
  if (left > 0) {
    const isDelivered = yield* hasWebhook(botId)
    if (after.switched_to !== null) after = yield* applySwitched(after, isDelivered ? maker : null, left)
    // Wake the worker: it may now send deliveries that the markers blocked, such as a manual retry of a dropped update.
    if (isDelivered) yield* notify(botId)
  }
  yield* saveMarkers(queue, after)
  return BACKLOG_ROWS_PER_WRITE
}

interface BacklogProgress {
  readonly after: UpdateQueueRow
  readonly left: number
}

/**
 * Changes the rows of updates that are no longer pending, lowest id first.
 * @param mayBeDelivered false if all deliveries of these updates are known to be cancelled
 */
function* applyConfirmed(queue: UpdateQueueRow, mayBeDelivered: boolean): Op<BacklogProgress> {
  const limit = BACKLOG_ROWS_PER_WRITE
  const { bot_id: botId, confirmed_to: confirmedTo, dropped_to: droppedTo } = queue
  if (confirmedTo === null) return { after: queue, left: limit }
  const ids = (yield* pendingRows(botId, 0, confirmedTo, limit)).map((it) => it.update_id)
  const dropped = ids.filter((it) => it <= (droppedTo ?? 0))
  if (dropped.length > 0) {
    yield* run(`${CANCEL} and update_id in (${places(dropped, 3)})`, [botId, 'dropped', ...filled(dropped)])
    yield* run(`update updates set pending = 0, body = '' where bot_id = $1 and update_id in (${places(dropped, 2)})`, [
      botId,
      ...filled(dropped),
    ])
  }
  const confirmed = ids.slice(dropped.length)
  if (confirmed.length > 0) {
    if (mayBeDelivered) yield* cancelWaiting(botId, confirmed)
    // Delete the bodies of the updates too, unless a delivery may be retried.
    yield* run(
      `update updates set pending = 0, body = case when ${attempted('updates')} then body else '' end
       where bot_id = $1 and update_id in (${places(confirmed, 2)})`,
      [botId, ...filled(confirmed)],
    )
  }
  if (ids.length === limit) return { after: queue, left: 0 }
  return { after: { ...queue, confirmed_to: null, dropped_to: null }, left: limit - ids.length }
}

/** Changes the deliveries of pending updates, lowest id first. @param maker null if there is no webhook */
function* applySwitched(queue: UpdateQueueRow, maker: DeliveryMaker | null, limit: number): Op<UpdateQueueRow> {
  const { bot_id: botId } = queue
  const from = Math.max(queue.switched_to ?? 0, queue.confirmed_to ?? 0)
  const rows = yield* pendingRows(botId, from, queue.last_update_id, limit)
  if (maker === null) {
    yield* cancelWaiting(
      botId,
      rows.map((it) => it.update_id),
    )
  } else {
    yield* runEach(
      `${INSERT_DELIVERY}
       on conflict (bot_id, update_id) do update set status = 'pending', cancel_reason = null, attempt_count = 0,
         next_attempt_at = excluded.next_attempt_at, ready = 1, resume_status = null
       where deliveries.status in ('pending', 'failed', 'cancelled')`,
      rows.map((it) => [maker.newDeliveryId(), botId, it.update_id, it.type, chatKey(it), maker.now]),
    )
  }
  const last = rows.length < limit ? null : (rows.at(-1) as PendingRow).update_id
  return { ...queue, switched_to: last }
}

/** Begin of the key of an update without a chat. */
export const NO_CHAT = 'update '

/** Returns the key for deliveries that must be sent in sequence: the chat id, or a unique key without a chat. */
export function chatKey({ update_id: updateId, chat_id: chatId }: Pick<PendingRow, 'update_id' | 'chat_id'>): string {
  return chatId ?? `${NO_CHAT}${updateId}`
}

interface PendingRow {
  readonly update_id: number
  readonly type: string
  readonly chat_id: string | null
}

function* pendingRows(botId: string, from: number, to: number, limit: number): Op<PendingRow[]> {
  return yield* all(
    selecting<PendingRow>()(`select update_id, type, chat_id from updates
     where bot_id = $1 and pending = 1 and update_id > $2 and update_id <= $3 order by update_id limit $4`),
    [botId, from, to, limit],
  )
}

function* cancelWaiting(botId: string, ids: readonly number[]): Op<void> {
  if (ids.length === 0) return
  yield* run(
    `${CANCEL} and status in ('pending', 'failed') and ${IS_FIRST_ROUND} and update_id in (${places(ids, 3)})`,
    [botId, 'webhook_deleted', ...filled(ids)],
  )
}

/** Cancels deliveries in flight immediately, without a backlog: the bot's connections limit their number. */
function* cancelInFlight(botId: string, reason: CancelReason): Op<void> {
  yield* run(`${CANCEL} and ${IN_FLIGHT} and ${IS_FIRST_ROUND}`, [botId, reason])
}

/** Stores the markers and notifies other processes of a new backlog, which they may apply. */
function* saveMarkers(before: UpdateQueueRow, after: UpdateQueueRow): Op<void> {
  const markers = ({ confirmed_to, dropped_to, switched_to }: UpdateQueueRow) => [confirmed_to, dropped_to, switched_to]
  if (markers(after).join() === markers(before).join()) return
  yield* run('update update_queues set confirmed_to = $2, dropped_to = $3, switched_to = $4 where bot_id = $1', [
    before.bot_id,
    ...markers(after),
  ])
  if (hasBacklog(after) && !hasBacklog(before)) yield* notify(BACKLOG)
}

const hasBacklog = (queue: UpdateQueueRow): boolean => queue.confirmed_to !== null || queue.switched_to !== null

/** Pads a list of ids to one of two lengths, so that only two statements are prepared. */
const sizeOf = (ids: readonly number[]): number => (ids.length <= 10 ? 10 : BACKLOG_ROWS_PER_WRITE)

const places = (ids: readonly number[], first: number): string =>
  Array.from({ length: sizeOf(ids) }, (_, index) => `$${first + index}`).join(', ')

const filled = (ids: readonly number[]): readonly number[] =>
  Array.from({ length: sizeOf(ids) }, (_, index) => ids[Math.min(index, ids.length - 1)] as number)
