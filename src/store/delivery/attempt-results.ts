import type { DeliveryRow, WebhookRow } from '../../domain/bot/rows.js'
import {
  type AttemptOutcome,
  applyAttempt,
  concernsEndpoint,
  type DeliveryState,
  type DeliveryTransition,
  LEASE_MS,
  leaseExpired,
} from '../../domain/delivery.js'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { all, type Op, one, run } from '../operation.js'
import { BACKLOG_ROWS_PER_WRITE } from './backlog.js'

export interface Attempt {
  readonly deliveryId: string
  readonly accountId: string
  readonly botId: string
  readonly updateId: number
  readonly chatKey: string
  readonly manual: boolean
  /** True if a fault has made it late since the attempt before. */
  readonly wasPostponed: boolean
  /** State of the delivery after the claim. */
  readonly claimed: DeliveryState
  /** End of the lease in ms, by the system clock; identifies the claim of the attempt. */
  readonly leaseUntil: number
  readonly startedAt: number
  readonly body: string
  readonly webhook: WebhookRow
}

/** Result of an attempt that ended, or whose lease expired. */
interface AttemptResult {
  readonly attempt: Omit<Attempt, 'accountId' | 'body' | 'wasPostponed' | 'webhook'>
  readonly outcome: AttemptOutcome
  /** Kind of the planted fault that affected it. */
  readonly fault?: string | undefined
  readonly endedAt: number
  /** Set if the store may already have the attempt, after a commit whose result is unknown. */
  readonly mayBeWritten?: true
}

export interface EndedAttempt extends AttemptResult {
  readonly attempt: AttemptResult['attempt'] & { readonly webhook: Pick<WebhookRow, 'set_at'> }
  readonly ipAddress: string | null
}

export function* recordAttempt(ended: AttemptResult): Op<void> {
  const { attempt, outcome, endedAt } = ended
  const { deliveryId: id, botId } = attempt
  if (ended.mayBeWritten && (yield* isWritten(attempt))) return
  const { statusCode, error, durationMs } = outcome
  const ending = [statusCode, error?.code ?? null, error?.message ?? null] as const
  // Usually the attempt still holds its lease: write the new state without reading the row.
  const expected = applyAttempt(attempt.claimed, attempt, outcome, endedAt)
  if (expected === null || !(yield* saveTransition(attempt, expected, outcome, attempt.leaseUntil))) {
    const row = yield* one<DeliveryRow>('select * from deliveries where id = $1', [id], 'row')
    if (row === undefined) return
    const after = applyAttempt(row, attempt, outcome, endedAt)
    if (after !== null) yield* saveTransition(attempt, after, outcome, row.lease_until)
  }
  yield* run(
    `insert into delivery_attempts
       (delivery_id, number, bot_id, manual, started_at, duration_ms, status_code, error_code, error_message, fault)
     values ($1, (select coalesce(max(number), 0) + 1 from delivery_attempts where delivery_id = $1),
       $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, botId, attempt.manual ? 1 : 0, attempt.startedAt, durationMs, ...ending, ended.fault ?? null],
  )
}

function* isWritten({ deliveryId, startedAt, manual }: AttemptResult['attempt']): Op<boolean> {
  const found = yield* one(
    'select number from delivery_attempts where delivery_id = $1 and started_at = $2 and manual = $3',
    [deliveryId, startedAt, manual ? 1 : 0],
  )
  return found !== undefined
}

/** Writes the new state of a delivery unless its lease differs from `lease`; returns true if it wrote. */
function* saveTransition(
  { deliveryId: id, botId, updateId }: AttemptResult['attempt'],
  after: DeliveryTransition,
  { statusCode, error, durationMs }: AttemptOutcome,
  lease: number | null,
): Op<boolean> {
  const changed = yield* run(
    `update deliveries set status = $2, cancel_reason = $3, attempt_count = $4, manual_attempt_count = $5,
       next_attempt_at = $6, delivered_at = $7, last_status_code = $8, last_error_code = $9, last_error_message = $10,
       last_duration_ms = $11, ready = 0, resume_status = null, lease_until = null
     where id = $1 and coalesce(lease_until, 0) = $12`,
    [
      id,
      after.status,
      after.cancel_reason,
      after.attempt_count,
      after.manual_attempt_count,
      after.next_attempt_at,
      after.delivered_at,
      statusCode,
      error?.code ?? null,
      error?.message ?? null,
      durationMs,
      lease ?? 0,
    ],
  )
  if (changed > 0 && (after.status === 'delivered' || after.status === 'dead_letter')) {
    yield* run('update updates set pending = 0 where bot_id = $1 and update_id = $2 and pending = 1', [botId, updateId])
  }
  return changed > 0
}

interface EndpointHealth {
  readonly last: EndedAttempt
  readonly successAt: number | null
  readonly errorAt: number | null
  readonly errorMessage: string | null
}

/** Records the health of each endpoint from its latest attempts, unless the webhook has been replaced meanwhile. */
export function* recordEndpointHealth(all: readonly EndedAttempt[]): Op<void> {
  const latest = new Map<string, EndpointHealth>()
  for (const ended of all) {
    if (!concernsEndpoint(ended.outcome)) continue
    const { attempt, outcome, endedAt } = ended
    const known = latest.get(attempt.botId) ?? { successAt: null, errorAt: null, errorMessage: null }
    const change =
      outcome.error === null ? { successAt: endedAt } : { errorAt: endedAt, errorMessage: outcome.error.message }
    latest.set(attempt.botId, { ...known, ...change, last: ended })
  }
  for (const botId of [...latest.keys()].sort()) {
    const { last, successAt, errorAt, errorMessage } = latest.get(botId) as EndpointHealth
    yield* run(
      `update webhooks set failing = $3, ip_address = coalesce($4, ip_address),
         last_success_at = coalesce($5, last_success_at), last_error_at = coalesce($6, last_error_at),
         last_error_message = coalesce($7, last_error_message)
       where bot_id = $1 and set_at = $2`,
      [
        botId,
        last.attempt.webhook.set_at,
        last.outcome.error === null ? 0 : 1,
        last.ipAddress,
        successAt,
        errorAt,
        errorMessage,
      ],
    )
  }
}

/** Records attempts with expired leases as failed. Returns their bots. */
export function* expireLeases(before: number, now: number): Op<string[]> {
  const lost = yield* all<DeliveryRow>(
    `select * from deliveries where lease_until is not null and (lease_until <= $1 or lease_until > $2)
     limit ${BACKLOG_ROWS_PER_WRITE}`,
    [before, Math.min(before + LEASE_MS + PROCESS_CLOCK_SKEW_MS_MAX, Number.MAX_SAFE_INTEGER)],
    'skip',
  )
  for (const row of lost) {
    const startedAt = row.last_attempt_at ?? now
    yield* recordAttempt({
      attempt: {
        deliveryId: row.id,
        botId: row.bot_id,
        updateId: row.update_id,
        chatKey: row.chat_key,
        manual: row.resume_status !== null,
        claimed: row,
        leaseUntil: row.lease_until as number,
        startedAt,
      },
      outcome: leaseExpired(Math.min(LEASE_MS, Math.max(0, now - startedAt))),
      endedAt: now,
    })
  }
  return lost.map((row) => row.bot_id)
}
