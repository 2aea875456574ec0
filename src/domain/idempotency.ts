import { type Refusal, refuse } from '../contract/errors.js'
import { DAY_MS } from '../contract/values/duration.js'
import type { IdempotencyRecord } from './rows.js'

/** Lifetime of idempotency records, except those of redeems, which never expire (DECISIONS.md#idempotency-keys). */
export const IDEMPOTENCY_LIFETIME_MS = 30 * DAY_MS

export const IDEMPOTENCY_WAIT_MS = 5_000

/** The value of the header Idempotency-Key with the fingerprint of its request. */
export interface IdempotencyKey {
  readonly value: string
  readonly fingerprint: string
  /** Lifetime of the record; default that of the rule (DECISIONS.md#idempotency-keys). */
  readonly lifetimeMs?: number | undefined
}

const KEY = /^[!-~]{1,255}$/

/** Parses the header Idempotency-Key and removes surrounding double quotes; null for a malformed key. */
export function parseIdempotencyKey(header: string): string | null {
  const value = header.length >= 2 && header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  return KEY.test(value) ? value : null
}

/** Returns the record to replay, null if there is no valid record, or a refusal if the key has another request. */
export function replayableRecord(
  record: IdempotencyRecord | undefined,
  fingerprint: string,
  now: number,
): IdempotencyRecord | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null {
  if (record === undefined || (record.expires_at !== null && now >= record.expires_at)) return null
  return record.fingerprint === fingerprint ? record : refuse('IDEMPOTENCY_KEY_REUSED')
}
