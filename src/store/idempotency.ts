import type { Refusal } from '../contract/errors.js'
import { recall } from '../domain/idempotency.js'
import type { IdempotencyRow } from '../domain/rows.js'
import { all, type Op, one, run, runEach, Superseded } from './operation.js'

/** The key of a call and what identifies the call itself. */
export interface IdempotencyClaim {
  readonly key: string
  readonly fingerprint: string
}

/** What is kept of a successful call, to answer it again: `data` is what the rows of the subject do not tell. */
export interface Replay<Data> {
  readonly status: 200 | 201
  readonly subjectId: string
  readonly data: Data | null
}

export function* replayOf<Data>(
  applicationId: string,
  claim: IdempotencyClaim,
  now: number,
): Op<Replay<Data> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const row = yield* one<IdempotencyRow>(
    'select * from idempotency_keys where application_id = $1 and idempotency_key = $2',
    [applicationId, claim.key],
  )
  const recalled = recall(row, claim.fingerprint, now)
  if (recalled === null || 'ok' in recalled) return recalled
  return {
    status: recalled.status as 200 | 201,
    subjectId: recalled.subject_id,
    data: recalled.data === null ? null : (JSON.parse(recalled.data) as Data),
  }
}

/**
 * An expired record that still lies under the key is replaced; a call without a key leaves none.
 * @throws Superseded when a call under the same key has succeeded since this one looked for it
 */
export function* remember(
  applicationId: string,
  claim: IdempotencyClaim | undefined,
  success: Replay<unknown>,
  now: number,
  expiresAt: number | null,
): Op<void> {
  if (claim === undefined) return
  const kept = yield* run(
    `insert into idempotency_keys (application_id, idempotency_key, fingerprint, status, subject_id, data, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (application_id, idempotency_key) do update set fingerprint = excluded.fingerprint,
       status = excluded.status, subject_id = excluded.subject_id, data = excluded.data,
       created_at = excluded.created_at, expires_at = excluded.expires_at
     where idempotency_keys.expires_at <= excluded.created_at`,
    [
      applicationId,
      claim.key,
      claim.fingerprint,
      success.status,
      success.subjectId,
      success.data === null ? null : JSON.stringify(success.data),
      now,
      expiresAt,
    ],
  )
  if (kept === 0) throw new Superseded()
}

/** Deletes up to `limit` expired records, but none that another process is deleting; answers how many. */
export function* forgetExpired(now: number, limit: number): Op<number> {
  const expired = yield* all<Pick<IdempotencyRow, 'application_id' | 'idempotency_key'>>(
    `select application_id, idempotency_key from idempotency_keys
     where expires_at is not null and expires_at <= $1 order by expires_at limit $2`,
    [now, limit],
    'skip',
  )
  yield* runEach(
    'delete from idempotency_keys where application_id = $1 and idempotency_key = $2',
    expired.map((row) => [row.application_id, row.idempotency_key]),
  )
  return expired.length
}
