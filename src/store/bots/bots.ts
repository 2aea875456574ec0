import type { Bot, BotDetail } from '../../contract/bots.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { ListedBot, Review, ShownBot } from '../../contract/platform/platform.js'
import {
  appliedBot,
  BOTS_PER_ACCOUNT,
  type BotApplication,
  type BotDecision,
  type BotPatch,
  botDetail,
  botRecord,
  decideBot,
  patchedBot,
  refuseUnapproved,
} from '../../domain/bot/bot.js'
import type { BotCallerRow } from '../../domain/bot/caller.js'
import type { BotRow, UpdateQueueRow, WebhookRow } from '../../domain/bot/rows.js'
import { formatInstant } from '../../domain/time.js'
import { hashToken, tokenPrefixOf } from '../../domain/tokens.js'
import { wantedTypes } from '../../domain/update.js'
import { webhookSettings } from '../../domain/webhook.js'
import { listPage, type Page, type PageRequest, REVIEWS_MAX } from '../list-page.js'
import {
  all,
  count,
  inserting,
  interleave,
  lock,
  notify,
  type Op,
  one,
  oneCached,
  run,
  updating,
} from '../operation.js'
import { selecting } from '../select.js'

const insert = inserting<BotRow>('bots', 'on conflict (username) do nothing')
const insertToken = inserting('bot_tokens')
const write = updating<
  BotRow,
  'account_id' | 'username' | 'token_prefix' | 'application_id' | 'linked_at' | 'created_at'
>()(
  'bots',
  ['id'],
  [
    'name',
    'review_status',
    'review_note',
    'status',
    'scopes',
    'profile',
    'command_menus',
    'submitted_at',
    'updated_at',
  ],
)

const CALLER = `b.id as bot_id, b.account_id, b.status as bot_status, b.scopes,
  b.application_id, a.status, a.suspended, a.features, a.allowed_origins`

/** Reads the bot token of a call with its bot and linked application in one joined row. */
export function* callerByHash(tokenHash: string): Op<BotCallerRow | undefined> {
  return yield* oneCached(
    selecting<BotCallerRow>()(`select t.revoked_at, a.secure_transport, ${CALLER}
     from bot_tokens t join bots b on b.id = t.bot_id left join applications a on a.id = b.application_id
     where t.token_hash = $1`),
    [tokenHash],
  )
}

/** Reads the bot of a call without a token, by the operator, for whom no policy on encryption applies. */
export function* callerById(botId: string): Op<BotCallerRow | undefined> {
  return yield* one(
    selecting<BotCallerRow>()(`select null as revoked_at, 'optional' as secure_transport, ${CALLER}
     from bots b left join applications a on a.id = b.application_id where b.id = $1`),
    [botId],
  )
}

/** Reads the caller of a running call again; a call of the operator in place of a bot has no token. */
export const callerAgain = ({ tokenId, botId }: { readonly tokenId: string; readonly botId: string }) =>
  tokenId === '' ? callerById(botId) : callerByHash(tokenId)

/** Returns the bot if the account owns it, and locks the row. */
export function* owned(accountId: string, botId: string): Op<BotRow | undefined> {
  const row = yield* one<BotRow>('select * from bots where id = $1', [botId], 'row')
  return row?.account_id === accountId ? row : undefined
}

/** Returns the bot if the account owns it and the operator has approved it. */
export function* approved(
  accountId: string,
  botId: string,
): Op<BotRow | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const row = yield* owned(accountId, botId)
  return row === undefined ? refuse('BOT_NOT_FOUND') : (refuseUnapproved(row) ?? row)
}

/** Returns the bot of any account if the operator has approved it. */
export function* approvedById(botId: string): Op<BotRow | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const row = yield* one<BotRow>('select * from bots where id = $1', [botId])
  return row === undefined ? refuse('BOT_NOT_FOUND') : (refuseUnapproved(row) ?? row)
}

function* record(row: BotRow): Op<Bot> {
  const webhook = yield* one('select bot_id from webhooks where bot_id = $1', [row.id])
  return botRecord(row, webhook !== undefined)
}

/** Reads the webhook of a bot, and the update types that it has selected. */
function* settingsOf(row: BotRow) {
  const webhook = yield* one(
    selecting<Pick<WebhookRow, 'origin' | 'allowed_ips' | 'max_connections'>>()(
      'select origin, allowed_ips, max_connections from webhooks where bot_id = $1',
    ),
    [row.id],
  )
  const queue = (yield* one<Pick<UpdateQueueRow, 'allowed_updates'>>(
    'select allowed_updates from update_queues where bot_id = $1',
    [row.id],
  )) as UpdateQueueRow
  return { webhook, selection: queue.allowed_updates }
}

function* detail(row: BotRow): Op<BotDetail> {
  const { webhook, selection } = yield* settingsOf(row)
  return botDetail(row, webhook, selection)
}

export function* list(accountId: string, request: PageRequest): Op<Page<Bot>> {
  const webhooks = yield* all<{ bot_id: string }>(
    'select w.bot_id from webhooks w join bots b on b.id = w.bot_id where b.account_id = $1',
    [accountId],
  )
  const called = new Set(webhooks.map((row) => row.bot_id))
  return yield* listPage<BotRow, Bot>('bots where account_id = $1', [accountId], request, (row) =>
    botRecord(row, called.has(row.id)),
  )
}

/** Lists the bots of all accounts, or of one application. */
export function* listAll(filter: PageRequest & { readonly application_id?: string }): Op<Page<ListedBot>> {
  const { application_id: applicationId } = filter
  const isSmall = applicationId !== undefined
  const [where, params] = isSmall ? ['application_id = $1', [applicationId]] : ['true', []]
  const from = `bots where ${where}`
  const { items, pagination } = yield* listPage<BotRow, BotRow>(from, params, filter, (row) => row, { isSmall })
  return { items: yield* interleave(...items.map(listed)), pagination }
}

function* listed(row: BotRow): Op<ListedBot> {
  return { ...(yield* record(row)), account_id: row.account_id }
}

/** Shows a bot of any account. */
export function* show(botId: string): Op<ShownBot | Refusal<'BOT_NOT_FOUND'>> {
  const row = yield* one<BotRow>('select * from bots where id = $1', [botId])
  if (row === undefined) return refuse('BOT_NOT_FOUND')
  const { webhook, selection } = yield* settingsOf(row)
  const webhook_url = webhook === undefined ? null : webhookSettings(webhook, selection).url
  const settings = { webhook_url, allowed_updates: [...wantedTypes(selection)] }
  return { ...botRecord(row, webhook !== undefined), account_id: row.account_id, ...settings }
}

export function* get(accountId: string, botId: string): Op<BotDetail | Refusal<'BOT_NOT_FOUND'>> {
  const row = yield* owned(accountId, botId)
  return row === undefined ? refuse('BOT_NOT_FOUND') : yield* detail(row)
}

/** Creates a bot, or resubmits the account's rejected bot with the same username. */
export function* apply(
  accountId: string,
  newId: string,
  application: BotApplication,
  now: number,
  autoApprove: boolean,
  limit = BOTS_PER_ACCOUNT,
): Op<Bot | Refusal<'BOT_LIMIT_REACHED' | 'USERNAME_TAKEN'>> {
  yield* lock(`bots of ${accountId}`)
  const holder = yield* one<BotRow>('select * from bots where username = $1', [application.username], 'row')
  if (holder?.account_id === accountId && holder.review_status === 'rejected') {
    const again = { ...appliedBot(holder.id, accountId, application, now), created_at: holder.created_at }
    return yield* applied(yield* save(again), now, autoApprove)
  }
  if ((yield* count('bots where account_id = $1', [accountId])) >= limit) {
    return refuse('BOT_LIMIT_REACHED', { limit })
  }
  const row = appliedBot(newId, accountId, application, now)
  if ((yield* insert(row)) === 0) return refuse('USERNAME_TAKEN')
  yield* run('insert into update_queues (bot_id, last_update_id, allowed_updates) values ($1, 0, null)', [row.id])
  return yield* applied(row, now, autoApprove)
}

/** Saves a submitted bot. The response says pending even if automatic approval follows in the same transaction. */
function* applied(row: BotRow, now: number, autoApprove: boolean): Op<Bot> {
  if (autoApprove) yield* save(decideBot(row, 'approve', now) as BotRow)
  return botRecord(row, false)
}

function* save(row: BotRow): Op<BotRow> {
  yield* write(row)
  return row
}

/** Applies a PATCH to a bot; writes nothing if the PATCH changes nothing. */
export function* update(
  accountId: string,
  botId: string,
  patch: BotPatch,
  now: number,
): Op<BotDetail | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>> {
  const row = yield* approved(accountId, botId)
  if ('ok' in row) return row
  const patched = patchedBot(row, patch, now)
  return yield* detail(patched === row ? row : yield* save(patched))
}

/** True for an approved bot without a token: the first read by its owner creates the token. */
export function needsFirstToken(bot: Bot): boolean {
  return bot.review_status === 'approved' && !bot.has_token
}

/**
 * Reads an approved bot and creates its token. Only one of several concurrent reads returns the token.
 * @param token the new token; the store saves only its hash
 */
export function* showToken(
  accountId: string,
  botId: string,
  token: string,
  now: number,
): Op<BotDetail | Refusal<'BOT_NOT_FOUND'>> {
  const row = yield* owned(accountId, botId)
  if (row === undefined) return refuse('BOT_NOT_FOUND')
  const before = yield* detail(row)
  if (!needsFirstToken(before)) return before
  const prefix = yield* replaceToken(botId, token, now)
  return { ...before, has_token: true, token_prefix: prefix, one_time_token: token }
}

/** Replaces the token of a bot, even if the owner has not read the first token yet. */
export function* regenerateToken(
  accountId: string,
  botId: string,
  token: string,
  now: number,
): Op<
  { bot_id: string; one_time_token: string; token_prefix: string } | Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED'>
> {
  const row = yield* approved(accountId, botId)
  if ('ok' in row) return row
  const prefix = yield* replaceToken(botId, token, now)
  yield* run('update bots set updated_at = $2 where id = $1', [botId, now])
  yield* notify(botId)
  return { bot_id: botId, one_time_token: token, token_prefix: prefix }
}

/** Stores a new token and revokes the old token, in one transaction. */
function* replaceToken(botId: string, token: string, now: number): Op<string> {
  const prefix = tokenPrefixOf(token)
  yield* run('update bot_tokens set revoked_at = $2 where bot_id = $1 and revoked_at is null', [botId, now])
  yield* insertToken({ token_hash: hashToken(token), bot_id: botId, created_at: now, revoked_at: null })
  yield* run('update bots set token_prefix = $2 where id = $1', [botId, prefix])
  return prefix
}

/** Applies a decision of the operator to a bot. */
export function* decide(
  botId: string,
  decision: BotDecision,
  now: number,
): Op<Bot | Refusal<'BOT_NOT_FOUND' | 'BOT_STATE_CONFLICT'>> {
  const row = yield* one<BotRow>('select * from bots where id = $1', [botId], 'row')
  if (row === undefined) return refuse('BOT_NOT_FOUND')
  const decided = decideBot(row, decision, now)
  if ('ok' in decided) return decided
  yield* notify(botId)
  return yield* record(yield* save(decided))
}

/** Returns the bots that wait for review, oldest first. */
export function* pendingReviews(): Op<Review[]> {
  const rows = yield* all<BotRow>(
    `select * from bots where review_status = 'pending' order by submitted_at, id limit ${REVIEWS_MAX}`,
  )
  return rows.map((row) => ({
    kind: 'bot',
    id: row.id,
    application_id: row.application_id,
    account_id: row.account_id,
    name: row.name,
    submitted_at: formatInstant(row.submitted_at),
  }))
}
