import { type Endpoint, failuresOf, type InputOf, membersOf, type OutputOf } from '../contract/endpoint.js'
import { type FailureCode, failures } from '../contract/errors.js'
import { type Contract, contract } from '../contract/index.js'
import { requireKnown } from '../values/closest.js'
import { isTrustedChannel } from './base-url.js'
import { type Call, createCall } from './call.js'
import { failureOfTransport } from './failure.js'
import { createHttpTransport } from './http.js'
import type { PoolOptions, PoolTransport } from './pool.js'
import {
  type CallFailureCode,
  clientFailureCodes,
  type CallFailure as Failure,
  type CallResult as Result,
  unwrap,
} from './result.js'
import { withRetry } from './retry.js'
import { refusePlain, type SecureOptions, withSecure } from './secure.js'
import { ATTEMPT_MS, CALL_MS, type CallOptions, type CallSettings, type RetryOptions } from './settings.js'
import { createStream, type Stream } from './stream.js'
import type { Transport } from './transport.js'

export type { Application } from '../contract/apps.js'
export type { Template } from '../contract/templates.js'
export type { CreatedToken, Token } from '../contract/tokens.js'
export type { Credential, IssuedVoucher, Redemption, Verification, Voucher } from '../contract/vouchers.js'
export type { Call } from './call.js'
export { createHttpTransport } from './http.js'
export type { PoolOptions, PoolTransport } from './pool.js'
export type { CallFailureCode, CallSuccess } from './result.js'
export { CallError, unwrap } from './result.js'
export { withRetry } from './retry.js'
export type { DowngradeProtection, SecureMode, SecureOptions } from './secure.js'
export { withSecure } from './secure.js'
export type { CallOptions, CallSettings, Retry, RetryOptions, TokenSource } from './settings.js'
export type { SecureFault, Transport, TransportErrorKind, TransportRequest, TransportResponse } from './transport.js'
export { TransportError } from './transport.js'
export { contract, failuresOf as failureCodesOf }

/** All codes that servers and this library know; `failureCodesOf(endpoint)` lists an endpoint's. */
export const failureCodes = [...clientFailureCodes, ...(Object.keys(failures) as FailureCode[])] as const

/** A failed call, by default of any endpoint. */
export type CallFailure<Code extends string = CallFailureCode> = Failure<Code>
/** Result of a call, by default of any endpoint. */
export type CallResult<Data, Code extends string = CallFailureCode> = Result<Data, Code>

export interface ClientOptions extends CallSettings {
  /** http or https, optionally with a path prefix. */
  readonly baseUrl: string
  /** Default: node:http with one connection per call. `createPoolTransport` reuses connections. */
  readonly transport?: Transport | undefined
  /** Retry settings for failed calls; `{ tries: 1 }` never retries. */
  readonly retry?: RetryOptions | undefined
  /**
   * Encrypted transport; default off. `{ mode: 'required' }` sends no call to the voucher API in plain text.
   * The default of `trustedChannel` follows from the base URL.
   */
  readonly secure?: SecureOptions | undefined
}

/** Allows undefined for optional members, which the library then omits. */
type OrUndefined<T> = { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }

type Arguments<E extends Endpoint> =
  Record<never, never> extends InputOf<E>
    ? [input?: OrUndefined<InputOf<E>>, options?: CallOptions]
    : [input: OrUndefined<InputOf<E>>, options?: CallOptions]

type ClientMethod<E extends Endpoint> = E extends { streams: true }
  ? (...args: Arguments<E>) => Promise<Result<AsyncIterable<OutputOf<E>>, CallFailureCode<E>>>
  : ((...args: Arguments<E>) => Promise<Result<OutputOf<E>, CallFailureCode<E>>>) & Pages<E>

/** What the method of a list has in addition. */
type Pages<E extends Endpoint> =
  OutputOf<E> extends { pagination: unknown }
    ? {
        /** Calls for each page, from `page` of the input on. @throws CallError for a failed call */
        pages(...args: Arguments<E>): AsyncGenerator<OutputOf<E>, void, undefined>
      }
    : unknown

/** One method per endpoint of the contract, as `client.group.method`, and the generic functions below them. */
export type Client = {
  readonly [Group in keyof Contract]: {
    readonly [Name in keyof Contract[Group]]: Contract[Group][Name] extends Endpoint
      ? ClientMethod<Contract[Group][Name]>
      : never
  }
} & { readonly call: Call; readonly stream: Stream }

/**
 * Creates a client of one server. Each method takes one flat object with the member names of the HTTP API and resolves
 * to `{ ok: true, data, … }` or `{ ok: false, code, … }`. It throws only for programming mistakes.
 * @throws TypeError for an invalid base URL, origin or pin, and an unknown option.
 */
export function createClient(options: ClientOptions): Client {
  requireOptions(options, [...ofClient, ...ofSettings])
  const sending = options.transport ?? createHttpTransport(options.baseUrl)
  const trustedChannel = isTrustedChannel(options.baseUrl)
  const secure: SecureOptions = { mode: 'off', trustedChannel, ...options.secure }
  const secured = withSecure(sending, secure)
  const call: Call = async (endpoint, input, callOptions) => {
    requireOptions(callOptions ?? {}, ofCall)
    const retry = { ...options.retry, ...callOptions?.retry }
    if ((callOptions?.timeoutMs ?? options.timeoutMs) !== undefined)
      return createCall(withRetry(secured, retry), options)(endpoint, input, callOptions)
    const waitMs = serverWaitMs(input)
    const transport = withRetry(limitAttempts(secured, ATTEMPT_MS + waitMs), retry)
    return createCall(transport, { ...options, timeoutMs: CALL_MS + waitMs })(endpoint, input, callOptions)
  }
  const streamed = streamOf(options, secure)
  const stream: Stream = async (endpoint, input, callOptions) => {
    requireOptions(callOptions ?? {}, ofCall)
    return streamed(endpoint, input, callOptions)
  }
  const methodOf = (endpoint: Endpoint) => {
    const send = endpoint.streams ? (stream as Call) : call
    const method = (input: object = {}, callOptions?: CallOptions) => send(endpoint, input, callOptions)
    if (!Object.hasOwn(membersOf(endpoint.output), 'pagination')) return method
    return Object.assign(method, { pages: (...args: Parameters<typeof method>) => pagesOf(method, ...args) })
  }
  const groups = Object.entries(contract).map(([group, endpoints]) => [
    group,
    Object.fromEntries(Object.entries(endpoints).map(([name, endpoint]) => [name, methodOf(endpoint)])),
  ])
  return { ...Object.fromEntries(groups), call, stream } as Client
}

/** Milliseconds that the server may wait before it responds: `timeout` of a poll, in seconds. */
function serverWaitMs(input: unknown): number {
  const { timeout } = input as { readonly timeout?: unknown }
  return typeof timeout === 'number' && timeout > 0 ? timeout * 1_000 : 0
}

const limitAttempts =
  (transport: Transport, attemptMs: number): Transport =>
  async (request) =>
    transport({ ...request, timeoutMs: Math.min(request.timeoutMs ?? attemptMs, attemptMs) })

type Names<T> = readonly (keyof T)[]
const ofClient: Names<ClientOptions> = ['baseUrl', 'transport', 'retry', 'secure']
const ofSettings: Names<CallSettings> = ['token', 'userAgent', 'timeoutMs', 'newIdempotencyKey']
const ofCall: Names<CallOptions> = ['idempotencyKey', 'signal', 'timeoutMs', 'headers', 'retry']
const ofRetry: Names<RetryOptions> = ['tries', 'random', 'sleep', 'monotonicMs', 'now', 'onRetry']
const ofTransport: Names<SecureOptions> = ['mode', 'origin', 'pins', 'trustedChannel', 'downgradeProtection']
const ofSession: Names<SecureOptions> = ['now', 'randomBytes', 'setTimer']

/** @throws TypeError for an option that is unknown, also one of `retry` or `secure` */
function requireOptions(options: Pick<ClientOptions, 'retry' | 'secure'>, names: readonly string[]): void {
  requireKnown('options', options, names)
  requireKnown('options.retry', options.retry ?? {}, ofRetry)
  requireKnown('options.secure', options.secure ?? {}, [...ofTransport, ...ofSession])
}

/** Yields the pages of a list until the last one, or until one that is empty, as after deletions. */
async function* pagesOf(
  method: (input: object, options?: CallOptions) => Promise<Result<unknown>>,
  input: { readonly page?: number } = {},
  options?: CallOptions,
): AsyncGenerator<unknown, void, undefined> {
  for (let page = input.page ?? 1; ; page += 1) {
    const data = (await unwrap(method({ ...input, page }, options))) as Page
    if (data.items.length === 0 && page > 1) return
    yield data
    // Written so that a response without a number of pages ends the loop.
    if (!(page < (data.pagination?.pages ?? 0))) return
  }
}

interface Page {
  readonly items: readonly unknown[]
  /** Absent in responses of servers that do not follow the contract. */
  readonly pagination?: { readonly pages?: number }
}

/** Creates the function for NDJSON streams. All streams belong to the operator API, which is never encrypted. */
function streamOf(options: ClientOptions, secure: SecureOptions): Stream {
  const refusal = refusePlain(secure)
  if (refusal === undefined) return createStream(options.baseUrl, options)
  return (async () => failureOfTransport(refusal, { idempotencyKey: undefined, mutates: false })) as Stream
}

/**
 * Creates a transport that reuses connections, for many calls. Call `close()` when you no longer need it.
 * @throws TypeError for an invalid base URL.
 */
export async function createPoolTransport(baseUrl: string, options?: PoolOptions): Promise<PoolTransport> {
  // Load undici only for callers that use it.
  const pool = await import('./pool.js')
  return pool.createPoolTransport(baseUrl, options)
}
