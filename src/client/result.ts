export interface CallSuccess<Data> {
  readonly ok: true
  readonly data: Data
  readonly status: number
  readonly requestId: string | null
  /** True for a replay: the server returned the response of an earlier call with the same idempotency key. */
  readonly replayed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A call that failed. `code` and `status` tell why:
 * - a refusal of the server has the server's code, or HTTP_ and the status if the server sent none
 * - a response that is not from a voucher service has INVALID_RESPONSE with any status
 * - a missing response has NETWORK_ERROR, TIMEOUT or ABORTED, and an input that cannot be sent has INVALID_INPUT, each
 *   with status 0
 * - a failure of the encrypted transport has a code of the failure table or one that begins with SECURE_, and
 *   `details.phase` names the phase that failed
 */
export interface CallFailure {
  readonly ok: false
  readonly code: string
  readonly message: string
  readonly status: number
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null
  /** True if the mutation may have taken effect despite the failure. */
  readonly outcomeUnknown: boolean
  /** The Idempotency-Key of the call, for a safe retry. */
  readonly idempotencyKey?: string
  readonly headers: Readonly<Record<string, string>>
}

export type CallResult<Data> = CallSuccess<Data> | CallFailure
