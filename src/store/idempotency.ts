import type { Refusal } from '../contract/errors.js'
import {
  IDEMPOTENCY_LIFETIME_MS,
  type IdempotencyKey,
  type IdempotencyRecord,
  replayableRecord,
} from '../domain/idempotency.js'
import { deleteFound, inserting, type Op, one, Superseded } from './operation.js'

const replaceExpired = inserting<IdempotencyRecord>(
  'idempotency_keys',
  `on conflict (application_id, idempotency_key) do update set fingerprint = excluded.fingerprint,
     status = excluded.status, subject_id = excluded.subject_id, data = excluded.data,
     created_at = excluded.created_at, expires_at = excluded.expires_at
   where idempotency_keys.expires_at <= excluded.created_at`,
)

/** Stored part of a response: `data` cannot be rebuilt from the rows of the voucher or redemption. */
interface Replay<Data> {
  readonly status: 200 | 201
  readonly subjectId: string
  readonly data: Data | null
}

/** The fields of an API call that identify its idempotency record, if it has an idempotency key. */
interface KeyedCall {
  readonly applicationId: string
  readonly idempotencyKey: IdempotencyKey | undefined
  readonly now: number
}

/** Finds the idempotency record to replay for a call; null without one. */
export function* findReplay<Data>({
  applicationId,
  idempotencyKey,
  now,
}: KeyedCall): Op<Replay<Data> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  if (idempotencyKey === undefined) return null
  const found = yield* one<IdempotencyRecord>(
    'select * from idempotency_keys where application_id = $1 and idempotency_key = $2',
    [applicationId, idempotencyKey.value],
  )
  const record = replayableRecord(found, idempotencyKey.fingerprint, now)
  if (record === null || 'ok' in record) return record
  return {
    status: record.status as 200 | 201,
    subjectId: record.subject_id,
    data: record.data === null ? null : (JSON.parse(record.data) as Data),
  }
}

/**
 * Saves an idempotency record and replaces an expired one. Does nothing for a call without an idempotency key.
 * @param lifetimeMs null for a record that never expires
 * @throws Superseded when another call with the same key has committed since this call looked for a record
 */
export function* saveRecord(
  { applicationId, idempotencyKey, now }: KeyedCall,
  { status, subjectId, data }: Replay<unknown>,
  lifetimeMs: number | null = IDEMPOTENCY_LIFETIME_MS,
): Op<void> {
  if (idempotencyKey === undefined) return
  const saved = yield* replaceExpired({
    application_id: applicationId,
    idempotency_key: idempotencyKey.value,
    fingerprint: idempotencyKey.fingerprint,
    status,
    subject_id: subjectId,
    data: data === null ? null : JSON.stringify(data),
    created_at: now,
    expires_at: lifetimeMs === null ? null : now + lifetimeMs,
  })
  if (saved === 0) throw new Superseded()
}

/** Deletes up to `limit` expired idempotency records, without rows locked by another process; returns their number. */
export function deleteExpiredRecords(now: number, limit: number): Op<number> {
  const where = 'expires_at is not null and expires_at <= $1 order by expires_at limit $2'
  return deleteFound('idempotency_keys', ['application_id', 'idempotency_key'], where, [now, limit])
}
