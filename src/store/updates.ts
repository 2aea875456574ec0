import type { BotScope } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { UpdateType } from '../contract/updates.js'
import { refuseBotCall } from '../domain/bot-caller.js'
import type { UpdateQueueRow } from '../domain/bot-rows.js'
import { UNCONFIRMED_UPDATE_MS, chosenTypes, wantedTypes } from '../domain/update.js'
import { callerByHash } from './bot-tokens.js'
import { refuseUnready } from './chats.js'
import { type Op, all, one, run, runEach } from './operation.js'
import { type NewUpdate, addUpdate } from './outbox.js'

const DELETE_UPDATE = 'delete from updates where bot_id = $1 and update_id = $2'

/** The stored text of each update, lowest id first. */
export type Bodies = readonly string[]

const ATTEMPTED = `exists (select 1 from deliveries d where d.bot_id = updates.bot_id
  and d.update_id = updates.update_id and (d.last_attempt_at is not null or d.status = 'delivering'))`

/** Of updates that wait: an old one that no attempt touched is gone, whether it was removed already or not. */
const ALIVE = `pending = 1 and (created_at > $2 or ${ATTEMPTED})`

export interface Poll {
  readonly botId: string
  readonly offset?: number | undefined
  readonly limit: number
  readonly allowedUpdates?: readonly UpdateType[] | undefined
  readonly now: number
}

type BotRefusal = NonNullable<ReturnType<typeof refuseBotCall>>

/** What a getUpdates call reads, or why it ends. */
export type Found = Bodies | BotRefusal | Refusal<'WEBHOOK_ACTIVE' | 'OFFSET_IN_FUTURE'>

/**
 * What a getUpdates call does once, when it comes (decisions.md 8, getUpdates): it confirms, chooses types for the
 * updates to come, and reads. A refusal changes nothing.
 */
export function* poll(call: Poll): Op<Found> {
  const { botId, offset = 0, limit, now } = call
  const queue = (yield* one<UpdateQueueRow>(
    'select * from update_queues where bot_id = $1',
    [botId],
    'row',
  )) as UpdateQueueRow
  if (yield* hasWebhook(botId)) return refuse('WEBHOOK_ACTIVE')
  const next = queue.last_update_id + 1
  if (offset > next) return refuse('OFFSET_IN_FUTURE', { next_offset: next })

  const allowed = chosenTypes(call.allowedUpdates, queue.allowed_updates)
  if (allowed !== queue.allowed_updates) {
    yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowed])
  }
  const first = offset < 0 ? yield* firstOfLast(botId, -offset, now) : offset
  if (first > 0) yield* confirmBefore(botId, first)
  return yield* waiting(botId, limit, now)
}

function* hasWebhook(botId: string): Op<boolean> {
  return (yield* one('select 1 as found from webhooks where bot_id = $1', [botId])) !== undefined
}

/** The id of the first of the last `count` updates that wait; 0 when there are fewer. */
function* firstOfLast(botId: string, count: number, now: number): Op<number> {
  const found = yield* one<{ update_id: number }>(
    `select update_id from updates where bot_id = $1 and ${ALIVE} order by update_id desc limit 1 offset $3`,
    [botId, now - UNCONFIRMED_UPDATE_MS, count - 1],
  )
  return found?.update_id ?? 0
}

/** Their bytes go too, except where a delivery may be retried. */
function* confirmBefore(botId: string, updateId: number): Op<void> {
  yield* run(
    `update updates set pending = 0, body = case when ${ATTEMPTED} then body else '' end
     where bot_id = $1 and update_id in (
       select update_id from updates where bot_id = $1 and pending = 1 and update_id < $2)`,
    [botId, updateId],
  )
}

/** Found in the index of those that wait, which has no more rows however many were delivered: then their texts. */
function* waiting(botId: string, limit: number, now: number): Op<Bodies> {
  const rows = yield* all<{ body: string }>(
    `select body from updates where bot_id = $1 and update_id in (
       select update_id from updates where bot_id = $1 and ${ALIVE} order by update_id limit $3)
     order by update_id`,
    [botId, now - UNCONFIRMED_UPDATE_MS, limit],
  )
  return rows.map(({ body }) => body)
}

export interface Look {
  readonly botId: string
  readonly tokenHash: string
  readonly scope: BotScope
  readonly limit: number
  readonly now: number
}

/** What a held call finds when something of its bot has changed: first whether it may still be answered at all. */
export function* look(call: Look): Op<Found> {
  const refusal = refuseBotCall(yield* callerByHash(call.tokenHash), call)
  if (refusal !== null) return refusal
  if (yield* hasWebhook(call.botId)) return refuse('WEBHOOK_ACTIVE')
  return yield* waiting(call.botId, call.limit, call.now)
}

/** An update that the operator makes; answers its stored text. */
export function* addByPlatform(
  update: Omit<NewUpdate, 'chatId'>,
): Op<{ ok: true; data: string } | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED' | 'BOT_STATE_CONFLICT'>> {
  const { botId } = update
  const refusal = yield* refuseUnready(botId)
  if (refusal !== null) return refusal
  const updateId = yield* addUpdate({ ...update, chatId: null })
  if (updateId === null) {
    const queue = (yield* one<UpdateQueueRow>('select * from update_queues where bot_id = $1', [
      botId,
    ])) as UpdateQueueRow
    return refuse('BOT_STATE_CONFLICT', { allowed_updates: wantedTypes(queue.allowed_updates) })
  }
  const { body } = (yield* one<{ body: string }>('select body from updates where bot_id = $1 and update_id = $2', [
    botId,
    updateId,
  ])) as { body: string }
  return { ok: true, data: body }
}

/**
 * Takes up to `limit` old updates away (decisions.md 8, update): those that waited for 24 hours without an attempt,
 * with their deliveries cancelled, and those that were confirmed. Answers how many.
 */
export function* forgetOld(now: number, limit: number): Op<number> {
  const expired = yield* all<{ bot_id: string; update_id: number }>(
    `select bot_id, update_id from updates where pending = 1 and created_at <= $1 and not ${ATTEMPTED}
     order by created_at limit $2`,
    [now - UNCONFIRMED_UPDATE_MS, limit],
    'skip',
  )
  const keys = expired.map((row) => [row.bot_id, row.update_id])
  yield* runEach(
    `update deliveries set status = 'cancelled', cancel_reason = 'expired', ready = 0, next_attempt_at = null
     where bot_id = $1 and update_id = $2 and status = 'pending'`,
    keys,
  )
  yield* runEach(DELETE_UPDATE, keys)
  const confirmed = yield* all<{ bot_id: string; update_id: number }>(
    `select bot_id, update_id from updates where body = '' and created_at <= $1 order by created_at limit $2`,
    [now - UNCONFIRMED_UPDATE_MS, limit],
    'skip',
  )
  yield* runEach(
    DELETE_UPDATE,
    confirmed.map((row) => [row.bot_id, row.update_id]),
  )
  return Math.max(expired.length, confirmed.length)
}
