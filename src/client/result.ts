export interface CallSuccess<Data> {
  readonly ok: true
  readonly data: Data
  readonly status: number
  readonly requestId: string | null
  /** True for a replay: the server returned its response to an earlier call with the same idempotency key. */
  readonly replayed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A call that failed. `code` and `status` say why: - the server refused the call: the code that the server sent, or
 * HTTP_ with the status if it sent no code - the response does not come from a voucher service: INVALID_RESPONSE with
 * any status - there is no response: NETWORK_ERROR, TIMEOUT or ABORTED with status 0 - the input cannot be sent:
 * INVALID_INPUT with status 0 - the encrypted transport failed: a code of the failure table or one that begins with
 * SECURE_; `details.phase` names the phase that failed
 */
export interface CallFailure {
  readonly ok: false
  readonly code: string
  readonly message: string
  readonly status: number
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null
  /** True if the server may have made the change despite the failure. */
  readonly outcomeUnknown: boolean
  /** The Idempotency-Key of the call; a retry with the same key is safe. */
  readonly idempotencyKey?: string
  readonly headers: Readonly<Record<string, string>>
}

export type CallResult<Data> = CallSuccess<Data> | CallFailure
