import { hash } from 'node:crypto'
import { type Refusal, refuse } from '../contract/errors.js'
import { DAY_MS } from '../values/duration.js'

/**
 * A successful call and its idempotency key. `data` is the part of the response that cannot be rebuilt from the voucher
 * or redemption, as JSON without credentials; usually null, because whole responses doubled the stored bytes per call.
 */
export interface IdempotencyRecord {
  application_id: string
  idempotency_key: string
  fingerprint: string
  status: number
  subject_id: string
  data: string | null
  created_at: number
  /** Null for a record that never expires. */
  expires_at: number | null
}

/** Lifetime of idempotency records; redeem records never expire (rules/calls.md#idempotency-keys). */
export const IDEMPOTENCY_LIFETIME_MS = 30 * DAY_MS

export const IDEMPOTENCY_WAIT_MS = 5_000

/** The value of the header Idempotency-Key with the fingerprint of its request. */
export interface IdempotencyKey {
  readonly value: string
  readonly fingerprint: string
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

/**
 * Returns canonical JSON: equal values give equal text. Sorts members by code unit and omits undefined members; returns
 * `{}` for an absent body (rules/calls.md#idempotency-keys).
 */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return '{}'
  // JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null. String() also writes -0 as 0.
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = value as Record<string, unknown>
  let text = ''
  for (const name of Object.keys(members).sort()) {
    const member = members[name]
    if (member === undefined) continue
    text += `${text === '' ? '' : ','}${quote(name)}:${canonicalJson(member)}`
  }
  return `{${text}}`
}

/** Printable ASCII without escapes: covers nearly every string in a quarter of the time of JSON.stringify. */
const PLAIN = /^[ !#-[\]-~]*$/

function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/**
 * Fingerprint of the request with an idempotency key: SHA-256 over method, logical path and body, base64url. Plain and
 * encrypted calls have the same logical path.
 */
export function fingerprint(method: string, logicalPath: string, body: unknown): string {
  return hash('sha256', canonicalJson([method, logicalPath, body]), 'base64url')
}
