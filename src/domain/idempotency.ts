import { type Refusal, refuse } from '../contract/errors.js'
import type { IdempotencyRecord } from './rows.js'
import { DAY_MS } from './time.js'

/** How long a success of issue or reverse is replayed; a redemption keeps its key (DECISIONS.md#idempotency-keys). */
export const IDEMPOTENCY_LIFETIME_MS = 30 * DAY_MS

export const IDEMPOTENCY_WAIT_MS = 5_000

/** The header value, with the fingerprint of the request that it belongs to. */
export interface IdempotencyKey {
  readonly value: string
  readonly fingerprint: string
}

const KEY = /^[!-~]{1,255}$/

/** The key of a header value: surrounding double quotes are stripped. Null when malformed. */
export function parseIdempotencyKey(header: string): string | null {
  const value = header.length >= 2 && header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  return KEY.test(value) ? value : null
}

/** The record to replay, null where there is none or it has expired, or the refusal of a key of another request. */
export function replayable(
  record: IdempotencyRecord | undefined,
  fingerprint: string,
  now: number,
): IdempotencyRecord | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null {
  if (record === undefined || (record.expires_at !== null && now >= record.expires_at)) return null
  return record.fingerprint === fingerprint ? record : refuse('IDEMPOTENCY_KEY_REUSED')
}
