import type { Application } from '../contract/apps.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { ListedApplication } from '../contract/platform/platform.js'
import {
  APPLICATIONS_PER_ACCOUNT,
  type ApplicationRow,
  type ApplicationSettings,
  applicationRecord,
  type LinkedBot,
  newApplication,
} from '../domain/application.js'
import type { BotRow } from '../domain/bot/rows.js'
import { formatInstant } from '../domain/time.js'
import { approved, owned as ownedBot } from './bots/bots.js'
import { listPage, type Page, type PageRequest } from './list-page.js'
import { all, count, inserting, interleave, lock, type Op, one, run, updating } from './operation.js'
import { selecting } from './select.js'
import * as templates from './templates.js'

const insert = inserting<ApplicationRow>('applications')
const write = updating<ApplicationRow, 'account_id' | 'created_at'>()(
  'applications',
  ['id'],
  ['name', 'description', 'status', 'suspended', 'features', 'allowed_origins', 'secure_transport', 'updated_at'],
)

type LinkedRow = Pick<BotRow, 'id' | 'username' | 'application_id' | 'linked_at'>
const LINKED_TO = selecting<LinkedRow>()(
  'select id, username, application_id, linked_at from bots where application_id = $1 order by linked_at, id',
)
const LINKED_OF_ACCOUNT = selecting<LinkedRow>()(
  `select id, username, application_id, linked_at from bots
   where account_id = $1 and application_id is not null order by linked_at, id`,
)

const linkedBot = (row: LinkedRow): LinkedBot => ({
  botId: row.id,
  username: row.username,
  linkedAt: formatInstant(row.linked_at as number),
})

function* record(row: ApplicationRow): Op<Application> {
  const linked = yield* all(LINKED_TO, [row.id])
  return applicationRecord(row, linked.map(linkedBot))
}

export function* list(accountId: string, request: PageRequest): Op<Page<Application>> {
  const linked = yield* all(LINKED_OF_ACCOUNT, [accountId])
  return yield* listPage<ApplicationRow, Application>(
    'applications where account_id = $1',
    [accountId],
    request,
    (row) => applicationRecord(row, linked.filter((bot) => bot.application_id === row.id).map(linkedBot)),
  )
}

/** Lists the applications of all accounts. */
export function* listAll(request: PageRequest): Op<Page<ListedApplication>> {
  const { items, pagination } = yield* listPage<ApplicationRow, ApplicationRow>(
    'applications where true',
    [],
    request,
    (row) => row,
  )
  return { items: yield* interleave(...items.map(listed)), pagination }
}

function* listed(row: ApplicationRow): Op<ListedApplication> {
  return { ...(yield* record(row)), account_id: row.account_id }
}

/** Returns the application of any account. */
export function* find(appId: string): Op<ApplicationRow | undefined> {
  return yield* one<ApplicationRow>('select * from applications where id = $1', [appId])
}

/** Returns the application if the account owns it, and locks the row. */
export function* owned(accountId: string, appId: string): Op<ApplicationRow | undefined> {
  const row = yield* one<ApplicationRow>('select * from applications where id = $1', [appId], 'row')
  return row?.account_id === accountId ? row : undefined
}

export function* get(accountId: string, appId: string): Op<Application | Refusal<'APPLICATION_NOT_FOUND'>> {
  const row = yield* owned(accountId, appId)
  return row === undefined ? refuse('APPLICATION_NOT_FOUND') : yield* record(row)
}

export function* create(
  accountId: string,
  id: string,
  settings: ApplicationSettings & { readonly name: string },
  now: number,
  limit = APPLICATIONS_PER_ACCOUNT,
): Op<Application | Refusal<'APPLICATION_LIMIT_REACHED'>> {
  yield* lock(`applications of ${accountId}`)
  if ((yield* count('applications where account_id = $1', [accountId])) >= limit) {
    return refuse('APPLICATION_LIMIT_REACHED', { limit })
  }
  const row = newApplication(id, accountId, settings, now)
  yield* insert(row)
  return applicationRecord(row, [])
}

function* save(row: ApplicationRow): Op<Application> {
  yield* write(row)
  return yield* record(row)
}

export function* update(
  accountId: string,
  appId: string,
  settings: ApplicationSettings,
  now: number,
): Op<Application | Refusal<'APPLICATION_NOT_FOUND'>> {
  const row = yield* owned(accountId, appId)
  if (row === undefined) return refuse('APPLICATION_NOT_FOUND')
  return yield* save({
    ...row,
    name: settings.name ?? row.name,
    description: settings.description ?? row.description,
    status: settings.status ?? row.status,
    allowed_origins:
      settings.allowed_origins === undefined ? row.allowed_origins : JSON.stringify(settings.allowed_origins),
    secure_transport: settings.secure_transport ?? row.secure_transport,
    updated_at: now,
  })
}

/** Applies a change that only the operator may make. */
export function* updateByOperator(
  appId: string,
  change: { suspended?: boolean; features?: readonly string[] },
  now: number,
): Op<Application | Refusal<'APPLICATION_NOT_FOUND'>> {
  const row = yield* one<ApplicationRow>('select * from applications where id = $1', [appId], 'row')
  if (row === undefined) return refuse('APPLICATION_NOT_FOUND')
  return yield* save({
    ...row,
    suspended: change.suspended === undefined ? row.suspended : Number(change.suspended),
    features: change.features === undefined ? row.features : JSON.stringify(change.features),
    updated_at: now,
  })
}

/** Links a bot to its only application and moves the templates that the bot created before. Idempotent. */
export function* linkBot(
  accountId: string,
  appId: string,
  botId: string,
  now: number,
): Op<Application | Refusal<'APPLICATION_NOT_FOUND' | 'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED' | 'BOT_ALREADY_LINKED'>> {
  const row = yield* owned(accountId, appId)
  if (row === undefined) return refuse('APPLICATION_NOT_FOUND')
  const bot = yield* approved(accountId, botId)
  if ('ok' in bot) return bot
  if (bot.application_id === appId) return yield* record(row)
  if (bot.application_id !== null) return refuse('BOT_ALREADY_LINKED', { application_id: bot.application_id })
  yield* templates.moveToApplication(botId, appId, now)
  return yield* setLink(row, botId, appId, now)
}

/** Unlinks a bot; templates, vouchers and tokens remain in the application. Idempotent. */
export function* unlinkBot(
  accountId: string,
  appId: string,
  botId: string,
  now: number,
): Op<Application | Refusal<'APPLICATION_NOT_FOUND' | 'BOT_NOT_FOUND'>> {
  const row = yield* owned(accountId, appId)
  if (row === undefined) return refuse('APPLICATION_NOT_FOUND')
  const bot = yield* ownedBot(accountId, botId)
  if (bot === undefined) return refuse('BOT_NOT_FOUND')
  return bot.application_id === appId ? yield* setLink(row, botId, null, now) : yield* record(row)
}

function* setLink(row: ApplicationRow, botId: string, appId: string | null, now: number): Op<Application> {
  yield* run('update bots set application_id = $2, linked_at = $3, updated_at = $4 where id = $1', [
    botId,
    appId,
    appId === null ? null : now,
    now,
  ])
  return yield* save({ ...row, updated_at: now })
}
