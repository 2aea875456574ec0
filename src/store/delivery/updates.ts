import type { BotScope } from '../../contract/endpoint.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { UpdateType } from '../../contract/updates.js'
import { refuseBotCall } from '../../domain/bot/caller.js'
import { chosenTypes, UNCONFIRMED_UPDATE_RETENTION_MS, wantedTypes } from '../../domain/update.js'
import { callerAgain } from '../bots/bots.js'
import { refuseUnready } from '../bots/chats.js'
import { aggregate, all, deleteFound, type Op, one, run, runEach } from '../operation.js'
import { addUpdate, type NewUpdate } from '../outbox.js'
import { selecting } from '../select.js'
import { attempted, confirmTo, hasWebhook, lockQueue, WAITING } from './backlog.js'
import { allowedUpdatesOf } from './webhooks.js'

/** The stored JSON text of each update, lowest id first. */
export type UpdateBodies = readonly string[]

/** SQL: false for an expired update without a delivery attempt, even if its row still exists. */
const ALIVE = `(created_at > $2 or ${attempted('scanned')})`

/** Maximum pending updates that one operation scans: thousands may have expired. */
const SCANNED_UPDATES_MAX = 1_000

interface Poll {
  readonly botId: string
  /** Id of the first wanted update, not negative (see `firstOfLast`). */
  readonly offset?: number | undefined
  readonly limit: number
  readonly allowedUpdates?: readonly UpdateType[] | undefined
  readonly now: number
}

type BotRefusal = NonNullable<ReturnType<typeof refuseBotCall>>

/** The scan found no deliverable update up to `after`, but more rows follow: continue in another operation. */
interface ScanProgress {
  readonly after: number
}

export type PollOutcome = UpdateBodies | ScanProgress | BotRefusal | Refusal<'WEBHOOK_ACTIVE' | 'OFFSET_IN_FUTURE'>

/**
 * First step of a getUpdates call (rules/bots.md#polling): confirms updates, stores the selected types, reads updates.
 * A refused call changes nothing.
 */
export function* poll(call: Poll): Op<PollOutcome> {
  const { botId, offset = 0, limit, now } = call
  const queue = yield* lockQueue(botId)
  if (yield* hasWebhook(botId)) return refuse('WEBHOOK_ACTIVE', { bot_id: botId })
  const next = queue.last_update_id + 1
  if (offset > next) return refuse('OFFSET_IN_FUTURE', { next_offset: next })

  const allowed = chosenTypes(call.allowedUpdates, queue.allowed_updates)
  if (allowed !== queue.allowed_updates) {
    yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowed])
  }
  if (offset > 1) yield* confirmTo(queue, offset - 1)
  return yield* pendingBodies(botId, limit, now, 0)
}

/** Progress of a search for the last pending updates, which scans ids downwards in several operations. */
export interface LastUpdates {
  readonly missing: number
  readonly before: number
}

/**
 * Finds the first id of the last `missing` pending updates: 0 if there are fewer, or the progress of an unfinished
 * search. The first call passes a `before` above every id.
 */
export function* firstOfLast(botId: string, { missing, before }: LastUpdates, now: number): Op<number | LastUpdates> {
  const seen = yield* aggregate<{ scanned_count: number; reached: number | null; found: number; first: number | null }>(
    `with scanned as (
       select bot_id, update_id, created_at from updates
       where bot_id = $1 and ${WAITING} and update_id < $3 order by update_id desc limit ${SCANNED_UPDATES_MAX}),
     alive as (
       select update_id from scanned where ${ALIVE} order by update_id desc limit $4)
     select (select count(*) from scanned) as scanned_count, (select min(update_id) from scanned) as reached,
       (select count(*) from alive) as found, (select min(update_id) from alive) as first`,
    [botId, now - UNCONFIRMED_UPDATE_RETENTION_MS, before, missing],
  )
  const left = missing - Number(seen.found)
  if (left === 0) return Number(seen.first)
  return Number(seen.scanned_count) < SCANNED_UPDATES_MAX ? 0 : { missing: left, before: Number(seen.reached) }
}

/** Finds the ids in the index of pending updates, which has no delivered updates, then reads their bodies. */
function* pendingBodies(botId: string, limit: number, now: number, after: number): Op<UpdateBodies | ScanProgress> {
  const rows = yield* all<{ body: string }>(
    `select body from updates where bot_id = $1 and update_id in (
       select update_id from (
         select bot_id, update_id, created_at from updates
         where bot_id = $1 and ${WAITING} and update_id > $4 order by update_id limit ${SCANNED_UPDATES_MAX}) scanned
       where ${ALIVE} order by update_id limit $3)
     order by update_id`,
    [botId, now - UNCONFIRMED_UPDATE_RETENTION_MS, limit, after],
  )
  if (rows.length > 0) return rows.map(({ body }) => body)
  const last = yield* one<{ update_id: number }>(
    `select update_id from updates where bot_id = $1 and ${WAITING} and update_id > $2
     order by update_id limit 1 offset ${SCANNED_UPDATES_MAX - 1}`,
    [botId, after],
  )
  return last === undefined ? [] : { after: last.update_id }
}

interface OpenPollRead {
  readonly botId: string
  readonly tokenId: string
  readonly scope: BotScope
  readonly limit: number
  readonly after?: number
  readonly now: number
}

/** Repeats the read of an open poll after a change: checks token, bot and webhook again, then reads updates. */
export function* recheckPoll(call: OpenPollRead): Op<PollOutcome> {
  const refusal = refuseBotCall(yield* callerAgain(call), call)
  if (refusal !== null) return refusal
  if (yield* hasWebhook(call.botId)) return refuse('WEBHOOK_ACTIVE', { bot_id: call.botId })
  return yield* pendingBodies(call.botId, call.limit, call.now, call.after ?? 0)
}

/** Adds an update that the operator creates; returns the stored text of the update. */
export function* addByPlatform(
  update: Omit<NewUpdate, 'chatId'>,
): Op<{ ok: true; data: string } | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED' | 'BOT_STATE_CONFLICT'>> {
  const { botId } = update
  const refusal = yield* refuseUnready(botId)
  if (refusal !== null) return refusal
  const body = yield* addUpdate({ ...update, chatId: null })
  if (body !== null) return { ok: true, data: body }
  return refuse('BOT_STATE_CONFLICT', { allowed_updates: wantedTypes(yield* allowedUpdatesOf(botId)) })
}

/**
 * Deletes updates older than 24 hours (rules/bots.md#updates): up to `limit` updates without a delivery attempt, whose
 * deliveries it cancels, and up to `limit` confirmed updates. Returns the larger of the two numbers.
 */
export function* deleteOldUpdates(now: number, limit: number): Op<number> {
  const expired = yield* all(
    selecting<{ bot_id: string; update_id: number }>()(`select bot_id, update_id from updates
     where pending = 1 and created_at <= $1 and not ${attempted('updates')} order by created_at limit $2`),
    [now - UNCONFIRMED_UPDATE_RETENTION_MS, limit],
    'skip',
  )
  const keys = expired.map((row) => [row.bot_id, row.update_id])
  yield* runEach(
    `update deliveries set status = 'cancelled', cancel_reason = 'expired', ready = 0, next_attempt_at = null
     where bot_id = $1 and update_id = $2 and status = 'pending'`,
    keys,
  )
  yield* runEach('delete from updates where bot_id = $1 and update_id = $2', keys)
  const confirmed = yield* deleteFound(
    'updates',
    ['bot_id', 'update_id'],
    "body = '' and created_at <= $1 order by created_at limit $2",
    [now - UNCONFIRMED_UPDATE_RETENTION_MS, limit],
  )
  return Math.max(expired.length, confirmed)
}
