import type { Endpoint, FailureCodeOf } from '../contract/endpoint.js'
import type { FailureCode } from '../contract/errors.js'

/** Codes of failures that the client detects; no server sends them. */
export const clientFailureCodes = [
  'NETWORK_ERROR',
  'CERTIFICATE_UNTRUSTED',
  'TIMEOUT',
  'ABORTED',
  'INVALID_INPUT',
  'INVALID_RESPONSE',
  'PROXY_INVALID',
  'SECURE_BOOTSTRAP_INVALID',
  'SECURE_SESSION_INVALID',
  'SECURE_PIN_MISMATCH',
  'SECURE_ANSWER_INVALID',
  'SECURE_ANSWER_REFUSED',
  'SECURE_PLAIN_REFUSED',
] as const

/** Codes that any call may end with: of the client, of the encrypted transport, and of a server with other routes. */
type GeneralFailureCode =
  | (typeof clientFailureCodes)[number]
  | Extract<FailureCode, `SECURE_${string}`>
  | 'REQUEST_TIMESTAMP_OUT_OF_RANGE'
  | 'REQUEST_REPLAYED'
  | 'DECRYPTION_FAILED'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | `HTTP_${number}`

/** Codes of the failures of calls: of one endpoint, or of any endpoint. A newer server may send others. */
export type CallFailureCode<E extends Endpoint = never> =
  | GeneralFailureCode
  | ([E] extends [never] ? FailureCode : FailureCodeOf<E>)

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
 * any status - there is no response: NETWORK_ERROR, CERTIFICATE_UNTRUSTED, TIMEOUT or ABORTED with status 0 - the input
 * cannot be sent: INVALID_INPUT with status 0 - the encrypted transport failed: a code of the failure table or one that
 * begins with SECURE_; `details.phase` names the phase that failed
 */
export interface CallFailure<Code extends string = string> {
  readonly ok: false
  readonly code: Code
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

export type CallResult<Data, Code extends string = string> = CallSuccess<Data> | CallFailure<Code>

/** The failure of a call as an exception, which `unwrap` throws. */
export class CallError<Code extends string = CallFailureCode> extends Error {
  override readonly name = 'CallError'
  readonly code: Code
  readonly failure: CallFailure<Code>
  constructor(failure: CallFailure<Code>) {
    super(`${failure.code}: ${failure.message}`)
    this.code = failure.code
    this.failure = failure
  }
}

/** Returns the data of a success. @throws CallError for a failure; its stack begins at the caller */
export function unwrap<Data>(result: CallResult<Data>): Data
export function unwrap<Data>(result: Promise<CallResult<Data>>): Promise<Data>
export function unwrap<Data>(result: CallResult<Data> | Promise<CallResult<Data>>) {
  // Taken here: after an await, the stack may begin in Node.
  const caller: { stack?: string } = {}
  Error.captureStackTrace(caller, unwrap)
  return 'then' in result ? result.then((it) => dataOf(it, caller)) : dataOf(result, caller)
}

function dataOf<Data>(result: CallResult<Data>, caller: { readonly stack?: string }): Data {
  if (result.ok) return result.data
  const error = new CallError(result)
  error.stack = [String(error), ...(caller.stack ?? '').split('\n').slice(1)].join('\n')
  throw error
}
