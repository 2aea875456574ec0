import type { Endpoint, InputOf, OutputOf } from '../contract/endpoint.js'

export interface CallOptions {
  /** Sent as Idempotency-Key; made fresh for idempotent endpoints when absent. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
  /** Milliseconds for the call with all its repeats; default 30,000. */
  readonly timeoutMs?: number
}

export interface CallSuccess<Data> {
  readonly ok: true
  readonly data: Data
  readonly status: number
  readonly requestId: string | null
  /** True when the server answered a repeat of an earlier call. */
  readonly replayed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** A refusal of the server, or no answer at all (`status` 0, code NETWORK_ERROR or TIMEOUT). */
export interface CallFailure {
  readonly ok: false
  readonly code: string
  readonly message: string
  readonly status: number
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null
  /** True when a mutation may have happened all the same. */
  readonly outcomeUnknown: boolean
  /** The Idempotency-Key that was sent, to repeat the call safely. */
  readonly idempotencyKey?: string
  readonly headers: Readonly<Record<string, string>>
}

export type CallResult<Data> = CallSuccess<Data> | CallFailure

/** Calls one endpoint; refusals and network failures are values. */
export type Call = <E extends Endpoint>(endpoint: E, input: InputOf<E>, options?: CallOptions) => Promise<CallResult<OutputOf<E>>>
