import type { InputOf } from '../../contract/endpoint.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { platformDeliveries, ScheduledAttempt } from '../../contract/platform/deliveries.js'
import type { Delivery } from '../../contract/webhook.js'
import type { BotRow, DeliveryAttemptRow, DeliveryRow, WebhookRow } from '../../domain/bot/rows.js'
import { decideRetry, deliveryRecord, SHOWN_ATTEMPTS_MAX, scheduleOf } from '../../domain/delivery.js'
import { approved } from '../bots/bots.js'
import { type Condition, equals, listPage, type Page, paginationOf } from '../list-page.js'
import { all, count, interleave, notify, type Op, one, run, runEach, type Value } from '../operation.js'
import { selecting } from '../select.js'
import { type CancelledTo, cancelledTo } from './backlog.js'
import { deliveryPage, IN_FLIGHT } from './counts.js'
import { webhookOf } from './webhooks.js'

type BotRefusal = Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>

type DeliveryFilter = Pick<OperatorFilter, 'page' | 'limit' | 'status'>

export function* list(accountId: string, botId: string, filter: DeliveryFilter): Op<Page<Delivery> | BotRefusal> {
  const bot = yield* approved(accountId, botId)
  if ('ok' in bot) return bot
  return yield* pageOf(botId, filter)
}

/** Reads one page of a bot's deliveries, newest update first. */
function* pageOf(botId: string, { status, page = 1, limit = 20 }: DeliveryFilter): Op<Page<Delivery>> {
  const { cancelledTo: border } = yield* cancelledTo(botId)
  const { total, ids } = yield* deliveryPage(botId, status, border, { page, limit })
  const found = yield* deliveriesOf(ids.map((id) => ({ bot_id: botId, update_id: id })))
  return { items: found.filter((it) => it !== undefined), pagination: paginationOf(total, page, limit) }
}

type OperatorFilter = InputOf<typeof platformDeliveries.deliveries>

/** Lists the deliveries of all bots, of one bot or of one chat. */
export function* listAll(filter: OperatorFilter): Op<Page<Delivery>> {
  const { bot_id: botId, chat_id: chatId, status, type, update_id: updateId, sort = '-created_at' } = filter
  const isOfBot = chatId === undefined && type === undefined && updateId === undefined
  if (botId !== undefined && isOfBot && sort === '-created_at') return yield* pageOf(botId, filter)
  const match: Condition[] = [...equals('bot_id', botId), ...equals('update_type', type)]
  if (chatId !== undefined) match.push(...equals('update_id', updateId))
  if (status !== undefined) match.push((add) => hasStatus(add(status)))
  const [where, params, options] = found(chatId, updateId, sort)
  const all = `deliveries where ${where}`
  const page = yield* listPage<DeliveryRow, DeliveryRow>(all, params, filter, (row) => row, { ...options, match })
  return { ...page, items: yield* recordsOf(yield* asCancelledByBot(page.items)) }
}

type Sort = NonNullable<OperatorFilter['sort']>

/** Returns the condition that an index covers, its value, and the order of the index. */
function found(chatId: string | undefined, updateId: number | undefined, sort: Sort) {
  const none: readonly Value[] = []
  // A chat has one bot.
  const ofChat = sort.replace('bot_id', 'created_at') as Sort
  if (chatId !== undefined) return ['chat_key = $1', [chatId], { sort: ofChat }] as const
  if (updateId === undefined) return ['true', none, { sort }] as const
  // An update id finds at most one row of each bot by the index of both, which lacks the order.
  return ['bot_id in (select id from bots) and update_id = $1', [updateId], { sort, isSmall: true }] as const
}

/** SQL of `cancelledTo` for the bot of a delivery in a list. */
const CANCELLED_TO = `(select case when w.bot_id is null then q.last_update_id else coalesce(q.confirmed_to, 0) end
  from update_queues q left join webhooks w on w.bot_id = q.bot_id where q.bot_id = slice.bot_id)`

/** SQL for deliveries with a status. */
const hasStatus = (
  status: string,
) => `(status = ${status} and (status not in ('pending', 'failed') or update_id > ${CANCELLED_TO}
    or resume_status in ('dead_letter', 'delivered'))
  or ${status} = 'cancelled' and status in ('pending', 'failed') and update_id <= ${CANCELLED_TO}
    and (resume_status is null or resume_status = 'failed'))`

/** Applies the bots' backlogs to delivery rows; keeps the order. */
function* asCancelledByBot(rows: readonly DeliveryRow[]): Op<DeliveryRow[]> {
  const byBot = new Map<string, CancelledTo>()
  const shown: DeliveryRow[] = []
  for (const row of rows) {
    const cancelled = byBot.get(row.bot_id) ?? (yield* cancelledTo(row.bot_id))
    byBot.set(row.bot_id, cancelled)
    shown.push(asCancelled(row, cancelled))
  }
  return shown
}

/** A delivery with all data that the operator may see or send. */
export interface DeliveryWithUpdate {
  readonly delivery: Delivery
  readonly schedule: readonly ScheduledAttempt[]
  readonly bot: Pick<BotRow, 'id' | 'name' | 'account_id' | 'status'>
  readonly webhook: WebhookRow | null
  /** JSON text of the update; null after its deletion. */
  readonly body: string | null
  /** Number of the bot's deliveries that use a connection to the endpoint. */
  readonly inFlight: number
}

export function* show(deliveryId: string): Op<DeliveryWithUpdate | Refusal<'DELIVERY_NOT_FOUND'>> {
  const stored = yield* one<DeliveryRow>('select * from deliveries where id = $1', [deliveryId])
  if (stored === undefined) return refuse('DELIVERY_NOT_FOUND')
  const { bot_id: botId } = stored
  const [row] = yield* asCancelledByBot([stored])
  const [record] = yield* recordsOf([row as DeliveryRow])
  const bot = yield* one<BotRow>('select * from bots where id = $1', [botId])
  return {
    delivery: record as Delivery,
    schedule: scheduleOf(row as DeliveryRow, (record as Delivery).attempts),
    bot: bot as BotRow,
    webhook: yield* webhookOf(botId),
    body: yield* bodyOf(stored),
    inFlight: yield* count(`deliveries where bot_id = $1 and ${IN_FLIGHT}`, [botId]),
  }
}

/** Returns the JSON text of a delivery's update; null after its deletion. */
function* bodyOf({ bot_id: botId, update_id: updateId }: DeliveryRow): Op<string | null> {
  const sql = 'select body from updates where bot_id = $1 and update_id = $2'
  return (yield* one<{ body: string }>(sql, [botId, updateId]))?.body || null
}

/** Returns a delivery row with the state that it has after the bot's backlog is applied. */
function asCancelled(row: DeliveryRow, { cancelledTo, droppedTo }: CancelledTo): DeliveryRow {
  const waits = (row.status === 'pending' || row.status === 'failed') && (row.resume_status ?? 'failed') === 'failed'
  if (!waits || row.update_id > cancelledTo) return row
  const reason = row.update_id <= droppedTo ? 'dropped' : 'webhook_deleted'
  return { ...row, status: 'cancelled', cancel_reason: reason, next_attempt_at: null, resume_status: null }
}

/** Maximum deliveries per query, which limits the number of prepared statements. */
const RECORDS_PER_QUERY = 100

/** Adds the latest attempts to deliveries in one query. Omits older attempts, because manual retries have no limit. */
function* recordsOf(rows: readonly DeliveryRow[]): Op<Delivery[]> {
  if (rows.length === 0) return []
  const places = rows.map((_, index) => `$${index + 1}`).join(', ')
  const attempts = yield* all<DeliveryAttemptRow>(
    `select a.* from deliveries d join delivery_attempts a on a.delivery_id = d.id
       and a.number > (select max(m.number) from delivery_attempts m where m.delivery_id = d.id) - ${SHOWN_ATTEMPTS_MAX}
     where d.id in (${places}) order by a.delivery_id, a.number`,
    rows.map((row) => row.id),
  )
  return rows.map((row) =>
    deliveryRecord(
      row,
      attempts.filter((it) => it.delivery_id === row.id),
    ),
  )
}

/** Reads the delivery of each update; undefined for an update without one. */
export function* deliveriesOf(
  updates: readonly Pick<DeliveryRow, 'bot_id' | 'update_id'>[],
): Op<(Delivery | undefined)[]> {
  const rows = yield* interleave(
    ...updates.map((row) =>
      one<DeliveryRow>('select * from deliveries where bot_id = $1 and update_id = $2', [row.bot_id, row.update_id]),
    ),
  )
  const records = new Map<string, Delivery>()
  for (const botId of new Set(updates.map((it) => it.bot_id))) {
    const cancelled = yield* cancelledTo(botId)
    const ofBot = rows.flatMap((it) => (it?.bot_id === botId ? [asCancelled(it, cancelled)] : []))
    for (let at = 0; at < ofBot.length; at += RECORDS_PER_QUERY) {
      const some = yield* recordsOf(ofBot.slice(at, at + RECORDS_PER_QUERY))
      for (const record of some) records.set(record.id, record)
    }
  }
  return rows.map((it) => it && records.get(it.id))
}

/**
 * Schedules a manual retry of a delivery for the next free slot and returns before the attempt starts.
 * @param deliveryId the delivery id, or the update_id in digits
 */
export function* retry(
  accountId: string,
  botId: string,
  deliveryId: string,
  force: boolean,
): Op<Delivery | BotRefusal | Refusal<'DELIVERY_NOT_FOUND' | 'DELIVERY_NOT_RETRYABLE'>> {
  const bot = yield* approved(accountId, botId)
  if ('ok' in bot) return bot
  const [column, value] = /^\d{1,15}$/.test(deliveryId) ? ['update_id', Number(deliveryId)] : ['id', deliveryId]
  const stored = yield* one<DeliveryRow>(
    `select * from deliveries where bot_id = $1 and ${column} = $2`,
    [botId, value],
    'row',
  )
  if (stored === undefined) return refuse('DELIVERY_NOT_FOUND')
  const row = asCancelled(stored, yield* cancelledTo(botId))
  const decided = decideRetry(row, {
    hasWebhook: (yield* webhookOf(botId)) !== null,
    hasBody: (yield* bodyOf(row)) !== null,
    force,
  })
  if (typeof decided === 'object') return decided
  yield* run("update deliveries set status = 'pending', resume_status = $2, ready = 1 where id = $1", [row.id, decided])
  yield* notify(botId)
  const [record] = yield* recordsOf([{ ...row, status: 'pending' }])
  return record as Delivery
}

/** Deletes up to `limit` deliveries created before `before`, with attempts and updates; returns their number. */
export function* deleteOldDeliveries(before: number, limit: number): Op<number> {
  const old = yield* all(
    selecting<{ id: string; bot_id: string; update_id: number }>()(`select id, bot_id, update_id from deliveries
     where created_at < $1 and lease_until is null and not (status = 'failed'
       and exists (select 1 from bots b where b.id = deliveries.bot_id and b.status = 'active'))
     order by created_at limit $2`),
    [before, limit],
    'skip',
  )
  const ids = old.map(({ id }) => [id])
  yield* runEach('delete from delivery_attempts where delivery_id = $1', ids)
  yield* runEach('delete from deliveries where id = $1', ids)
  yield* runEach(
    'delete from updates where bot_id = $1 and update_id = $2',
    old.map((row) => [row.bot_id, row.update_id]),
  )
  return old.length
}
