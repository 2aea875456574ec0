import { type Refusal, refuse } from '../contract/errors.js'
import type { ScheduledAttempt } from '../contract/platform/deliveries.js'
import type { UpdateType } from '../contract/updates.js'
import { type Delivery, type DeliveryAttempt, RETRY_DELAYS_SECONDS } from '../contract/webhook.js'
import { DAY_MS } from '../values/duration.js'
import type { DeliveryAttemptRow, DeliveryRow } from './bot/rows.js'
import { formatInstant, instantOrNull } from './time.js'

/** Maximum delay before an attempt. A later next_attempt_at means that the clock was set back since it was stored. */
export const RETRY_DELAY_MS_MAX = Math.max(...RETRY_DELAYS_SECONDS) * 1000

/** Lease of an attempt, in system time; an expired lease is a failed attempt (rules/webhooks.md#delivery-attempts). */
export const LEASE_MS = 30_000

/** Retention of deliveries, their attempts and the bodies of their updates (rules/bots.md#updates). */
export const DELIVERY_RETENTION_MS = 30 * DAY_MS

/** A delivery record shows at most this many of the latest attempts. */
export const SHOWN_ATTEMPTS_MAX = 100

/** Concurrent attempts per process, over all bots: bounds sockets and memory. */
export const DELIVERY_SLOTS = 1_000

/**
 * Returns how many more slots an account may take (rules/webhooks.md#delivery-slots). Afterwards the account holds at
 * most a third as many slots as are still free. An account without a slot always gets one while any slot is free.
 */
export function slotsFor(free: number, held: number): number {
  return Math.min(free, Math.max(Math.floor((free - 3 * held) / 4), held === 0 ? 1 : 0))
}

export interface AttemptOutcome {
  readonly statusCode: number | null
  /** Null for a delivered update. The texts are fixed: they contain neither the URL nor the endpoint's response. */
  readonly error: { readonly code: string; readonly message: string } | null
  readonly durationMs: number
}

/** Outcome of an attempt whose lease expired because its process exited or could not record the result. */
export const leaseExpired = (durationMs: number): AttemptOutcome => ({
  statusCode: null,
  error: { code: 'lease_expired', message: 'The server ended before the attempt did; it may have arrived.' },
  durationMs,
})

/** Failures caused by this server: they do not mark the endpoint as failing. */
const OWN_FAILURES: readonly string[] = ['aborted', 'internal_error', 'lease_expired', 'planted_fault']

export function concernsEndpoint({ error }: Pick<AttemptOutcome, 'error'>): boolean {
  return error === null || !OWN_FAILURES.includes(error.code)
}

export type DeliveryState = Pick<
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

/** State of a delivery after an attempt; lease and slot are released. */
export type DeliveryTransition = Pick<
  DeliveryState,
  'status' | 'cancel_reason' | 'attempt_count' | 'manual_attempt_count' | 'next_attempt_at' | 'delivered_at'
>

/**
 * Applies the outcome of an attempt to its delivery; null if the delivery has changed since and ignores the outcome. A
 * success always counts, because the endpoint has received the update.
 * @param attempt lease of the attempt; `manual` is true for a manual retry
 * @param now end of the attempt, ms
 */
export function applyAttempt(
  row: DeliveryState,
  attempt: { readonly manual: boolean; readonly leaseUntil: number },
  { error }: Pick<AttemptOutcome, 'error'>,
  now: number,
): DeliveryTransition | null {
  const ownsLease = row.status === 'delivering' && row.lease_until === attempt.leaseUntil
  const counted = {
    cancel_reason: null,
    attempt_count: row.attempt_count + (attempt.manual ? 0 : 1),
    manual_attempt_count: row.manual_attempt_count + (attempt.manual ? 1 : 0),
    next_attempt_at: null,
    delivered_at: row.delivered_at,
  }
  if (error === null) {
    return ownsLease || row.status !== 'delivered' || attempt.manual
      ? { ...counted, status: 'delivered', delivered_at: row.delivered_at ?? now }
      : null
  }
  // The owner deleted the webhook during a manual retry, which already restored the earlier status.
  const wasRestored = attempt.manual && (row.status === 'dead_letter' || row.status === 'delivered')
  if (row.status === 'cancelled' || wasRestored) {
    return { ...counted, status: row.status, cancel_reason: row.cancel_reason }
  }
  if (!ownsLease) return null
  if (row.resume_status !== null) {
    return { ...counted, status: row.resume_status, next_attempt_at: row.next_attempt_at }
  }
  const delaySeconds = RETRY_DELAYS_SECONDS[counted.attempt_count - 1]
  return delaySeconds === undefined
    ? { ...counted, status: 'dead_letter' }
    : { ...counted, status: 'failed', next_attempt_at: now + delaySeconds * 1000 }
}

/** Decides a manual retry (rules/webhooks.md#manual-retries). */
export function decideRetry(
  { status }: Pick<DeliveryRow, 'status'>,
  { hasWebhook, hasBody, force }: { hasWebhook: boolean; hasBody: boolean; force: boolean },
): 'failed' | 'dead_letter' | 'delivered' | Refusal<'DELIVERY_NOT_RETRYABLE'> {
  const may = status === 'failed' || status === 'dead_letter' || (status === 'delivered' && force)
  return may && hasWebhook && hasBody ? status : refuse('DELIVERY_NOT_RETRYABLE', { status })
}

const errorOf = (code: string | null, message: string | null) =>
  code === null ? null : { code, message: message ?? '' }

/** @param attempts in ascending order */
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
    ...(row.fault !== null && { fault: row.fault }),
  }
}

/**
 * Returns the schedule of attempts: past ones, the next one, and the earliest times of later ones.
 * @param attempts the latest attempts in ascending order
 */
export function scheduleOf(
  row: DeliveryState & Pick<DeliveryRow, 'last_attempt_at'>,
  attempts: readonly DeliveryAttempt[],
): ScheduledAttempt[] {
  const { attempt_count: count, status, resume_status: resumed } = row
  const made = attempts.filter((it) => !it.manual)
  const isOpen = ['pending', 'delivering', 'failed'].includes(status) && (resumed ?? 'failed') === 'failed'
  const isRunning = status === 'delivering' && resumed === null
  let at = isRunning ? row.last_attempt_at : row.next_attempt_at
  return [0, ...RETRY_DELAYS_SECONDS].map((delaySeconds, before) => {
    const attempt = before + 1
    if (before < count) return { attempt, at: made.at(before - count)?.started_at ?? null, state: 'made' }
    if (!isOpen) return { attempt, at: null, state: 'never' }
    if (before === count) return { attempt, at: instantOrNull(at), state: isRunning ? 'running' : 'due' }
    at = at === null ? null : at + delaySeconds * 1000
    return { attempt, at: instantOrNull(at), state: 'later' }
  })
}
