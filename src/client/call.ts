import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../contract/endpoint.js'
import { refused, unanswered, unsendable } from './failure.js'
import type { PreparedCall } from './prepare.js'
import { prepareCall } from './prepare.js'
import { readAnswer } from './response.js'
import type { Transport } from './transport.js'
import { isTransportError } from './transport.js'

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

/** Calls one endpoint; refusals and network failures are values. */
export type Call = <E extends Endpoint>(
  endpoint: E,
  input: InputOf<E>,
  options?: CallOptions,
) => Promise<CallResult<OutputOf<E>>>

/** One credential for every call, or a choice by the kind that the endpoint takes; undefined sends none. */
export type TokenSource = string | ((kind: CredentialKind) => string | undefined | Promise<string | undefined>)

export interface CallSettings {
  readonly token?: TokenSource
  readonly userAgent?: string
  /** Milliseconds; default 30,000. */
  readonly timeoutMs?: number
  /** Default: random UUIDs. */
  readonly newIdempotencyKey?: () => string
}

/** The call over a transport; repeats are the transport's (retry.ts). */
export function createCall(transport: Transport, settings: CallSettings = {}): Call {
  return async (endpoint, input, options = {}) => {
    if (endpoint.streams) throw new TypeError(`${endpoint.id} answers a stream: use the stream function`)
    const prepared = await prepareCall(endpoint, input as Readonly<Record<string, unknown>>, settings, options)
    return prepared.ok ? sendPrepared<OutputOf<typeof endpoint>>(transport, prepared) : unsendable(prepared)
  }
}

/** Sends what was prepared; refusals and network failures are values. */
export async function sendPrepared<Data>(transport: Transport, prepared: PreparedCall): Promise<CallResult<Data>> {
  try {
    const response = await transport(prepared.request)
    const answer = readAnswer<Data>(response, prepared.expected)
    return answer.ok ? answer : refused(response, prepared)
  } catch (error) {
    if (!isTransportError(error)) throw error
    return unanswered(error, prepared)
  }
}
