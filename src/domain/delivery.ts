import { type Refusal, refuse } from '../contract/errors.js'
import type { UpdateType } from '../contract/updates.js'
import type { Delivery, DeliveryAttempt } from '../contract/webhook.js'
import type { DeliveryAttemptRow, DeliveryRow } from './bot/rows.js'
import { DAY_MS, formatInstant, instantOrNull } from './time.js'

/**
 * Seconds from the end of a failed attempt to the next one. The fifth failed attempt makes a dead letter
 * (DECISIONS.md#retry-schedule).
 */
const RETRY_DELAYS_SECONDS: readonly number[] = [60, 300, 900, 3600]

/** No attempt is ever due later than this, whatever the clock said when it was planned. */
export const RETRY_DELAY_MS_MAX = Math.max(...RETRY_DELAYS_SECONDS) * 1000

/** An attempt that has not ended by then, in true time, is lost and has failed (DECISIONS.md#delivery-attempts). */
export const LEASE_MS = 30_000

/** How long deliveries, their attempts and the bytes of their updates are kept (DECISIONS.md#updates). */
export const DELIVERY_KEPT_MS = 30 * DAY_MS

/** Of the attempts of a delivery, the latest so many are shown. */
export const SHOWN_ATTEMPTS_MAX = 100

/** Concurrent attempts of a process, over all bots: bounds sockets and memory. */
export const DELIVERY_SLOTS = 1_000

/**
 * How many more slots an account may take (DECISIONS.md#delivery-slots). It holds at most a third of the number
 * that is free then: a quarter of all if it is alone, less beside others, and always a first slot while any is free.
 */
export function slotsFor(free: number, held: number): number {
  return Math.min(free, Math.max(Math.floor((free - 3 * held) / 4), held === 0 ? 1 : 0))
}

export interface AttemptOutcome {
  readonly statusCode: number | null
  /** Null: delivered. Constant texts, nothing of the URL or of the receiver's words. */
  readonly error: { readonly code: string; readonly message: string } | null
  readonly durationMs: number
}

/** Of an attempt whose process ended before it, or could not write what came of it. */
export const leaseExpired = (durationMs: number): AttemptOutcome => ({
  statusCode: null,
  error: { code: 'lease_expired', message: 'The server ended before the attempt did; it may have arrived.' },
  durationMs,
})

/** Failures that say nothing of the endpoint: it is not taken for a failing one. */
const OWN_FAILURES: readonly string[] = ['aborted', 'internal_error', 'lease_expired']

export function saysOfEndpoint({ error }: Pick<AttemptOutcome, 'error'>): boolean {
  return error === null || !OWN_FAILURES.includes(error.code)
}

export type Standing = Pick<
  DeliveryRow,
  | 'status'
  | 'cancel_reason'
  | 'attempt_count'
  | 'manual_attempt_count'
  | 'next_attempt_at'
  | 'resume_status'
  | 'lease_until'
  | 'delivered_at'
>

/** Where a delivery stands after an attempt; it holds no lease and waits for no slot then. */
export type AfterAttempt = Pick<
  Standing,
  'status' | 'cancel_reason' | 'attempt_count' | 'manual_attempt_count' | 'next_attempt_at' | 'delivered_at'
>

/**
 * What the end of an attempt makes of its delivery; null: nothing, it has moved on without this attempt.
 * A success counts whatever has happened meanwhile: the receiver has the update.
 * @param attempt whether it was made by hand, and the lease that it held
 * @param now when it ended, ms
 */
export function afterAttempt(
  row: Standing,
  attempt: { readonly manual: boolean; readonly leaseUntil: number },
  { error }: Pick<AttemptOutcome, 'error'>,
  now: number,
): AfterAttempt | null {
  const holds = row.status === 'delivering' && row.lease_until === attempt.leaseUntil
  const counted = {
    cancel_reason: null,
    attempt_count: row.attempt_count + (attempt.manual ? 0 : 1),
    manual_attempt_count: row.manual_attempt_count + (attempt.manual ? 1 : 0),
    next_attempt_at: null,
    delivered_at: row.delivered_at,
  }
  if (error === null) {
    return holds || row.status !== 'delivered' || attempt.manual
      ? { ...counted, status: 'delivered', delivered_at: row.delivered_at ?? now }
      : null
  }
  // A retry by hand whose webhook went meanwhile has given its delivery back already.
  const wentBack = attempt.manual && (row.status === 'dead_letter' || row.status === 'delivered')
  if (row.status === 'cancelled' || wentBack) {
    return { ...counted, status: row.status, cancel_reason: row.cancel_reason }
  }
  if (!holds) return null
  if (row.resume_status !== null) {
    return { ...counted, status: row.resume_status, next_attempt_at: row.next_attempt_at }
  }
  const delaySeconds = RETRY_DELAYS_SECONDS[counted.attempt_count - 1]
  return delaySeconds === undefined
    ? { ...counted, status: 'dead_letter' }
    : { ...counted, status: 'failed', next_attempt_at: now + delaySeconds * 1000 }
}

/** Decides a manual retry (DECISIONS.md#manual-retries). */
export function decideRetry(
  { status }: Pick<DeliveryRow, 'status'>,
  { hasWebhook, hasBody, force }: { hasWebhook: boolean; hasBody: boolean; force: boolean },
): 'failed' | 'dead_letter' | 'delivered' | Refusal<'DELIVERY_NOT_RETRYABLE'> {
  const may = status === 'failed' || status === 'dead_letter' || (status === 'delivered' && force)
  return may && hasWebhook && hasBody ? status : refuse('DELIVERY_NOT_RETRYABLE', { status })
}

const errorOf = (code: string | null, message: string | null) =>
  code === null ? null : { code, message: message ?? '' }

/** @param attempts in the order of their numbers */
export function deliveryRecord(row: DeliveryRow, attempts: readonly DeliveryAttemptRow[]): Delivery {
  return {
    id: row.id,
    bot_id: row.bot_id,
    update_id: row.update_id,
    update_type: row.update_type as UpdateType,
    status: row.status,
    cancel_reason: row.cancel_reason,
    attempt_count: row.attempt_count,
    manual_attempt_count: row.manual_attempt_count,
    created_at: formatInstant(row.created_at),
    last_attempt_at: instantOrNull(row.last_attempt_at),
    next_attempt_at: instantOrNull(row.next_attempt_at),
    delivered_at: instantOrNull(row.delivered_at),
    last_status_code: row.last_status_code,
    last_error: errorOf(row.last_error_code, row.last_error_message),
    last_duration_ms: row.last_duration_ms,
    attempts: attempts.map(attemptRecord),
  }
}

function attemptRecord(row: DeliveryAttemptRow): DeliveryAttempt {
  return {
    number: row.number,
    manual: row.manual === 1,
    started_at: formatInstant(row.started_at),
    duration_ms: row.duration_ms,
    status_code: row.status_code,
    error: errorOf(row.error_code, row.error_message),
  }
}
