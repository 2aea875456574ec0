import type { Application } from '../contract/apps.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { APPLICATIONS_PER_ACCOUNT, applicationRecord } from '../domain/application.js'
import type { ApplicationRow } from '../domain/rows.js'
import { type Op, one, run } from './operation.js'
import { type Page, type PageRequest, listPage } from './page.js'

export function* list(accountId: string, request: PageRequest): Op<Page<Application>> {
  return yield* listPage<ApplicationRow, Application>(
    'applications where account_id = $1',
    [accountId],
    request,
    applicationRecord,
  )
}

/** The application when the account owns it. */
export function* owned(accountId: string, appId: string): Op<ApplicationRow | undefined> {
  const row = yield* one<ApplicationRow>('select * from applications where id = $1', [appId], 'row')
  return row?.account_id === accountId ? row : undefined
}

export function* get(accountId: string, appId: string): Op<Application | Refusal<'APPLICATION_NOT_FOUND'>> {
  const row = yield* owned(accountId, appId)
  return row === undefined ? refuse('APPLICATION_NOT_FOUND') : applicationRecord(row)
}

export interface ApplicationSettings {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly allowed_origins?: readonly string[] | undefined
  readonly secure_transport?: 'optional' | 'required' | undefined
  readonly status?: 'active' | 'disabled' | undefined
}

export function* create(
  accountId: string,
  id: string,
  settings: ApplicationSettings & { name: string },
  now: number,
): Op<Application | Refusal<'APPLICATION_LIMIT_REACHED'>> {
  const counted = yield* one<{ n: number }>('select count(*) as n from applications where account_id = $1', [accountId])
  if (Number(counted?.n) >= APPLICATIONS_PER_ACCOUNT) {
    return refuse('APPLICATION_LIMIT_REACHED', { limit: APPLICATIONS_PER_ACCOUNT })
  }
  const row: ApplicationRow = {
    id,
    account_id: accountId,
    name: settings.name,
    description: settings.description ?? null,
    status: 'active',
    suspended: 0,
    features: '["vouchers"]',
    allowed_origins: JSON.stringify(settings.allowed_origins ?? ['*']),
    secure_transport: settings.secure_transport ?? 'optional',
    created_at: now,
    updated_at: now,
  }
  yield* run(
    `insert into applications (id, account_id, name, description, status, suspended, features, allowed_origins,
       secure_transport, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      row.id,
      row.account_id,
      row.name,
      row.description,
      row.status,
      row.suspended,
      row.features,
      row.allowed_origins,
      row.secure_transport,
      row.created_at,
      row.updated_at,
    ],
  )
  return applicationRecord(row)
}

function* save(row: ApplicationRow): Op<Application> {
  yield* run(
    `update applications set name = $2, description = $3, status = $4, suspended = $5, features = $6,
       allowed_origins = $7, secure_transport = $8, updated_at = $9
     where id = $1`,
    [
      row.id,
      row.name,
      row.description,
      row.status,
      row.suspended,
      row.features,
      row.allowed_origins,
      row.secure_transport,
      row.updated_at,
    ],
  )
  return applicationRecord(row)
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

/** What only the platform changes. */
export function* govern(
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
