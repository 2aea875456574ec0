import type { UpdateType } from '../../contract/updates.js'
import type { UpdateQueueRow } from '../../domain/bot/rows.js'
import { isWanted, type UpdatePayload, updateBody } from '../../domain/update.js'
import { all, change, notify, type Op, one, run } from '../operation.js'
import { chatKey } from './backlog.js'

export interface NewUpdate {
  readonly botId: string
  readonly type: UpdateType
  /** Updates of one chat are delivered one after the other. */
  readonly chatId: string | null
  readonly payload: UpdatePayload
  readonly now: number
  /** Of the delivery, where the bot has a webhook. */
  readonly newDeliveryId: () => string
}

/**
 * Writes an update in the transaction that causes it, under the bot's next id, and its delivery where a webhook is
 * set. Answers the update's id, or null when the bot does not want the type: nothing is written then.
 */
export function* addUpdate(update: NewUpdate): Op<number | null> {
  const { botId, type, chatId, payload, now } = update
  const queue = (yield* one<Pick<UpdateQueueRow, 'allowed_updates'>>(
    'select allowed_updates from update_queues where bot_id = $1',
    [botId],
    'row',
  )) as UpdateQueueRow
  if (!isWanted(type, queue.allowed_updates)) return null
  const { last_update_id: updateId } = (yield* change<Pick<UpdateQueueRow, 'last_update_id'>>(
    'update update_queues set last_update_id = last_update_id + 1 where bot_id = $1 returning last_update_id',
    [botId],
  )) as UpdateQueueRow
  // Asked under the lock of the queue, which whoever sets or removes the webhook takes first.
  const webhook = yield* one('select 1 as found from webhooks where bot_id = $1', [botId])
  yield* run(
    `insert into updates (bot_id, update_id, type, chat_id, body, created_at, pending)
     values ($1, $2, $3, $4, $5, $6, 1)`,
    [botId, updateId, type, chatId, updateBody(updateId, type, payload, now), now],
  )
  if (webhook !== undefined) {
    yield* run(
      `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
         manual_attempt_count, created_at, next_attempt_at, ready)
       values ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $6, 1)`,
      [update.newDeliveryId(), botId, updateId, type, chatKey({ update_id: updateId, chat_id: chatId }), now],
    )
  }
  yield* notify(botId)
  return updateId
}

/**
 * Tells every bot that is linked to an application and named the type. For an application without bots this is one
 * read of an index; the payload is built when a bot listens.
 */
export function* notifyLinkedBots(
  applicationId: string,
  type: UpdateType,
  payload: () => UpdatePayload,
  { now, newDeliveryId }: { readonly now: number; readonly newDeliveryId: () => string },
): Op<void> {
  const linked = yield* all<Pick<UpdateQueueRow, 'bot_id' | 'allowed_updates'>>(
    `select q.bot_id, q.allowed_updates from bots b join update_queues q on q.bot_id = b.id
     where b.application_id = $1 order by b.id`,
    [applicationId],
  )
  const listening = linked.filter((queue) => isWanted(type, queue.allowed_updates))
  if (listening.length === 0) return
  const built = payload()
  for (const { bot_id: botId } of listening) {
    yield* addUpdate({ botId, type, chatId: null, payload: built, now, newDeliveryId })
  }
}
