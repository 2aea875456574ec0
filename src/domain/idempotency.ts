import { type Refusal, refuse } from '../contract/errors.js'
import type { IdempotencyRecord } from './rows.js'
import { DAY_MS } from './time.js'

/** Lifetime of records of issue and reverse; those of redeem never expire (DECISIONS.md#idempotency-keys). */
export const IDEMPOTENCY_LIFETIME_MS = 30 * DAY_MS

export const IDEMPOTENCY_WAIT_MS = 5_000

/** The header value with the fingerprint of its request. */
export interface IdempotencyKey {
  readonly value: string
  readonly fingerprint: string
}

const KEY = /^[!-~]{1,255}$/

/** Strips surrounding double quotes from a header value; null when the key is malformed. */
export function parseIdempotencyKey(header: string): string | null {
  const value = header.length >= 2 && header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  return KEY.test(value) ? value : null
}

/** Returns the record to replay, null if none is valid, or a refusal if the key belongs to another request. */
export function replayableRecord(
  record: IdempotencyRecord | undefined,
  fingerprint: string,
  now: number,
): IdempotencyRecord | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null {
  if (record === undefined || (record.expires_at !== null && now >= record.expires_at)) return null
  return record.fingerprint === fingerprint ? record : refuse('IDEMPOTENCY_KEY_REUSED')
}
