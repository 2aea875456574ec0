export interface CallSuccess<Data> {
  readonly ok: true
  readonly data: Data
  readonly status: number
  readonly requestId: string | null
  /** True when the server answered a repeat of an earlier call. */
  readonly replayed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A refusal of the server; or no answer at all, with `status` 0 and the code NETWORK_ERROR, TIMEOUT or ABORTED; or an
 * input that cannot be sent, with `status` 0 and the code INVALID_INPUT; or a failure of the encrypted transport, with a
 * code that begins with SECURE_, or one of its table, and in `details.phase` how far the call had come. A response that
 * is not from a voucher service has the code INVALID_RESPONSE, whatever its status; a refusal without a code has HTTP_
 * and its status.
 */
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
