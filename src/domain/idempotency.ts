import { type Refusal, refuse } from '../contract/errors.js'
import type { IdempotencyRow } from './rows.js'

/** How long a success of issue or reverse is replayed; a redemption keeps its key (DECISIONS.md#idempotency-keys). */
export const IDEMPOTENCY_LIFETIME_MS = 30 * 86_400_000

export const IDEMPOTENCY_WAIT_MS = 5_000

const KEY = /^[!-~]{1,255}$/

/** The key of a header value: surrounding double quotes are stripped. Null when malformed. */
export function parseIdempotencyKey(header: string): string | null {
  const value = header.length >= 2 && header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  return KEY.test(value) ? value : null
}

/** What an earlier call under the same key means for this one: nothing, a replay, or a refusal. */
export function recall(
  earlier: IdempotencyRow | undefined,
  fingerprint: string,
  now: number,
): IdempotencyRow | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null {
  if (earlier === undefined || (earlier.expires_at !== null && now >= earlier.expires_at)) return null
  return earlier.fingerprint === fingerprint ? earlier : refuse('IDEMPOTENCY_KEY_REUSED')
}
