import type { UpdateType } from '../contract/updates.js'
import type { UpdateQueueRow, UpdateRow } from '../domain/bot/rows.js'
import { isWanted, type UpdatePayload, updateBody } from '../domain/update.js'
import { chatKey, hasWebhook, INSERT_DELIVERY } from './delivery/backlog.js'
import { all, change, inserting, notify, type Op, one, run } from './operation.js'
import { selecting } from './select.js'

const insert = inserting<UpdateRow>('updates')

export interface NewUpdate {
  readonly botId: string
  readonly type: UpdateType
  readonly chatId: string | null
  readonly payload: UpdatePayload
  readonly now: number
  readonly newDeliveryId: () => string
  /** Request that caused an update about a voucher. */
  readonly requestId?: string
}

/**
 * Writes an update with the bot's next id, and a delivery if the bot has a webhook, in the caller's transaction.
 * Returns the update's text; null, without writing, if the bot has not selected the update type.
 */
export function* addUpdate(update: NewUpdate): Op<string | null> {
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
  // Calls that set or remove a webhook lock the queue first, so the result cannot change before the commit.
  const isDelivered = yield* hasWebhook(botId)
  const body = updateBody(updateId, type, payload, now)
  yield* insert({
    bot_id: botId,
    update_id: updateId,
    type,
    chat_id: chatId,
    body,
    created_at: now,
    pending: 1,
    request_id: update.requestId ?? null,
  })
  if (isDelivered) {
    const key = chatKey({ update_id: updateId, chat_id: chatId })
    yield* run(INSERT_DELIVERY, [update.newDeliveryId(), botId, updateId, type, key, now])
  }
  yield* notify(botId)
  return body
}

const LINKED_QUEUES = selecting<Pick<UpdateQueueRow, 'bot_id' | 'allowed_updates'>>()(
  `select q.bot_id, q.allowed_updates from bots b join update_queues q on q.bot_id = b.id
   where b.application_id = $1 order by b.id`,
)

/**
 * Adds an update for every linked bot that selected the update type. Costs one index read for an application without
 * bots; builds the payload only if a bot receives the update.
 */
export function* notifyLinkedBots(
  applicationId: string,
  type: UpdateType,
  payload: () => UpdatePayload,
  call: { readonly now: number; readonly newDeliveryId: () => string; readonly requestId: string },
): Op<void> {
  const linked = yield* all(LINKED_QUEUES, [applicationId])
  const listening = linked.filter((queue) => isWanted(type, queue.allowed_updates))
  if (listening.length === 0) return
  const built = payload()
  for (const { bot_id: botId } of listening) {
    const { now, newDeliveryId, requestId } = call
    yield* addUpdate({ botId, type, chatId: null, payload: built, now, newDeliveryId, requestId })
  }
}
