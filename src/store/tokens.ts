import { type Refusal, refuse } from '../contract/errors.js'
import type { Token } from '../contract/tokens.js'
import {
  ACTIVE_TOKENS_PER_APPLICATION,
  type RuntimeCallerRow,
  type TokenRow,
  tokenRecord,
} from '../domain/application.js'
import { owned } from './apps.js'
import { listPage, type Page, type PageRequest } from './list-page.js'
import { count, inserting, type Op, one, oneCached, run } from './operation.js'
import { selecting } from './select.js'

const insert = inserting<TokenRow>('tokens')

/** Reads token and application of a runtime call in one joined row. */
export function* callerByHash(tokenHash: string): Op<RuntimeCallerRow | undefined> {
  return yield* oneCached(
    selecting<RuntimeCallerRow>()(`select t.id as token_id, t.scopes, t.expires_at, t.revoked_at,
       a.id as application_id, a.account_id, a.status, a.suspended, a.features, a.secure_transport,
       a.allowed_origins
     from tokens t join applications a on a.id = t.application_id
     where t.token_hash = $1`),
    [tokenHash],
  )
}

export function* list(
  accountId: string,
  appId: string,
  request: PageRequest,
  now: number,
): Op<Page<Token> | Refusal<'APPLICATION_NOT_FOUND'>> {
  if ((yield* owned(accountId, appId)) === undefined) return refuse('APPLICATION_NOT_FOUND')
  return yield* listPage<TokenRow, Token>('tokens where application_id = $1', [appId], request, (row) =>
    tokenRecord(row, now),
  )
}

/** SQL for the active tokens at $2: two ranges of an index. */
const ACTIVE = ['expires_at is null', 'expires_at > $2'].map(
  (it) => `select 1 as n from tokens where application_id = $1 and revoked_at is null and ${it}`,
)

export function* create(
  accountId: string,
  row: TokenRow,
  now: number,
  limit = ACTIVE_TOKENS_PER_APPLICATION,
): Op<Token | Refusal<'APPLICATION_NOT_FOUND' | 'TOKEN_LIMIT_REACHED'>> {
  if ((yield* owned(accountId, row.application_id)) === undefined) return refuse('APPLICATION_NOT_FOUND')
  const active = yield* count(`(${ACTIVE.join(' union all ')}) active`, [row.application_id, now])
  if (active >= limit) return refuse('TOKEN_LIMIT_REACHED', { limit })
  yield* insert(row)
  return tokenRecord(row, now)
}

/** Revokes a token. Idempotent: a second call returns the same record. */
export function* revoke(
  accountId: string,
  appId: string,
  tokenId: string,
  now: number,
): Op<Token | Refusal<'APPLICATION_NOT_FOUND' | 'TOKEN_NOT_FOUND'>> {
  if ((yield* owned(accountId, appId)) === undefined) return refuse('APPLICATION_NOT_FOUND')
  const row = yield* one<TokenRow>(
    'select * from tokens where id = $1 and application_id = $2',
    [tokenId, appId],
    'row',
  )
  if (row === undefined) return refuse('TOKEN_NOT_FOUND')
  if (row.revoked_at === null) yield* run('update tokens set revoked_at = $2 where id = $1', [tokenId, now])
  return tokenRecord({ ...row, revoked_at: row.revoked_at ?? now }, now)
}

/** Stores the last use of each token. @param uses time in ms, by token id */
export function* saveLastUses(uses: ReadonlyMap<string, number>): Op<void> {
  // A fixed order prevents deadlocks between processes that update the same rows.
  for (const [tokenId, usedAt] of [...uses].sort()) {
    yield* run('update tokens set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)', [
      tokenId,
      usedAt,
    ])
  }
}
