import {
  CAPTURED_BYTES_MAX,
  type CapturedExchange,
  type DeliveryActivity,
  HIDDEN,
} from '../../contract/platform/activity.js'
import type { AttemptExchange } from '../../contract/platform/deliveries.js'
import type { FaultKind } from '../../contract/platform/fault-kinds.js'
import { hideForms } from '../../contract/secrets.js'
import type { AttemptOutcome } from '../../domain/delivery.js'
import { formatInstant } from '../../domain/time.js'
import { type UpdateSubject, updateSubject } from '../../domain/update.js'
import { Masking } from '../masking.js'
import type { AttemptResult, Delivery } from './sender.js'

/** A completed attempt or replay. */
export interface MadeAttempt extends Pick<Delivery, 'url' | 'headers' | 'body'> {
  readonly deliveryId: string
  readonly updateId: number
  readonly botId: string
  /** Type and voucher of the update; undefined if the sent body has them. */
  readonly subject?: UpdateSubject
  /** Start by the server's clock, ms since the epoch. */
  readonly startedAt: number
  /** Arrival of the response by the system clock, ms since the epoch. */
  readonly endedAt: number
  /** Attempt number in the schedule; null for a manual retry, a replay and the second sending of a fault. */
  readonly attempt: number | null
  readonly manual: boolean
  readonly replay: boolean
  readonly result: Pick<AttemptResult, 'statusCode' | 'durationMs' | 'response'> & Pick<AttemptOutcome, 'error'>
  /** Planted fault that affected the attempt. */
  readonly fault?: FaultKind | undefined
  /** Secrets that signed the delivery; an application may write them into its response. */
  readonly secrets: readonly string[]
}

export const ATTEMPTS_MAX = 1_000
export const ATTEMPT_BYTES_MAX = 16 * 1024 * 1024

/** Estimated bytes for the headers and the object of an attempt. */
const OVERHEAD_BYTES = 2_048

/** The latest attempts of this process and their responses, in memory (rules/operator.md#replays-by-the-operator). */
export class AttemptLog {
  #made: MadeAttempt[] = []
  #bytes = 0
  readonly #listeners = new Set<(made: MadeAttempt) => void>()

  add(made: MadeAttempt): void {
    this.#made.push(made)
    this.#bytes += bytesOf(made)
    while (this.#made.length > ATTEMPTS_MAX || this.#bytes > ATTEMPT_BYTES_MAX) {
      this.#bytes -= bytesOf(this.#made.shift() as MadeAttempt)
    }
    for (const listener of this.#listeners) listener(made)
  }

  /** Calls `listener` after each attempt and replay. Returns a function that removes the listener. */
  listen(listener: (made: MadeAttempt) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Returns the attempts and replays of a delivery, oldest first. */
  of(deliveryId: string): readonly MadeAttempt[] {
    return this.#made.filter((it) => it.deliveryId === deliveryId)
  }

  /** Discards all attempts, because their state is replaced. */
  clear(): void {
    this.#made = []
    this.#bytes = 0
  }
}

function bytesOf({ body, result }: MadeAttempt): number {
  return OVERHEAD_BYTES + body.byteLength + (result.response?.body.byteLength ?? 0)
}

/** Formats an attempt as a line of the activity stream. */
export function deliveryActivity(made: MadeAttempt): DeliveryActivity {
  const { type, voucherId } = made.subject ?? updateSubject(Buffer.from(made.body).toString())
  const { statusCode: status, error, durationMs } = made.result
  return {
    delivery_id: made.deliveryId,
    update_id: made.updateId,
    update_type: type,
    bot_id: made.botId,
    voucher_id: voucherId,
    at: formatInstant(made.startedAt),
    attempt: made.attempt,
    manual: made.manual,
    replay: made.replay,
    status,
    error,
    duration_ms: durationMs,
    verdict: null,
    reason: null,
    explanation: null,
    ...(made.fault && { fault: made.fault }),
  }
}

/** Request and response of an attempt, without secrets that the application wrote into its response. */
export function exchangeOf({ url, headers, body, result, secrets }: MadeAttempt): CapturedExchange {
  const { response, statusCode: status } = result
  return {
    request: { method: 'POST', url, headers: Object.entries(headers), ...captured(body, body.byteLength) },
    response: response && {
      status,
      headers: response.headers.map(([name, value]) => [name, hide(value, secrets)]),
      ...captured(Buffer.from(hide(response.body.toString('latin1'), secrets), 'latin1'), response.bodyBytes),
    },
  }
}

export function attemptExchange(made: MadeAttempt): AttemptExchange {
  const { at, attempt, manual, replay, status, error, duration_ms, fault } = deliveryActivity(made)
  return { ...exchangeOf(made), at, attempt, manual, replay, status, error, duration_ms, ...(fault && { fault }) }
}

function captured(body: Uint8Array, bytes: number): Pick<CapturedExchange['request'], 'body' | 'body_bytes'> {
  const shown = Buffer.from(body.subarray(0, CAPTURED_BYTES_MAX))
  return { body: shown.length === 0 ? null : shown.toString('base64'), body_bytes: bytes }
}

function hide(text: string, secrets: readonly string[]): string {
  const masking = new Masking()
  for (const secret of secrets) masking.remember(secret)
  return hideForms(masking.finish(text) ?? HIDDEN)
}
