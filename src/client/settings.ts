import type { CredentialKind } from '../contract/endpoint.js'
import type { Expected } from './response.js'
import type { TransportRequest } from './transport.js'

/** Milliseconds of an attempt without `timeoutMs` (rules/cli.md#time-limits). */
export const ATTEMPT_MS = 15_000
/** Milliseconds of a call with its retries without `timeoutMs`: a retry can follow an attempt without a response. */
export const CALL_MS = 30_000

export interface Retry {
  /** Number of the failed attempt, from 1. */
  readonly attempt: number
  readonly delayMs: number
  /** HTTP status of the failed attempt; 0 without a response. */
  readonly status: number
  /** Failure code of the response, or the kind of the transport error. */
  readonly code: string
}

export interface RetryOptions {
  /** Maximum number of attempts, the first included; default 4. */
  readonly tries?: number
  /** Returns a random number from 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number
  /** Waits between attempts. @throws TransportError `aborted` if the signal aborts first */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Returns the milliseconds of a clock that never jumps, to measure durations. */
  readonly monotonicMs?: () => number
  /** Returns the milliseconds since 1970, to compare with a date in Retry-After. */
  readonly now?: () => number
  readonly onRetry?: (retry: Retry) => void
}

export interface CallOptions {
  /** The Idempotency-Key header. Default: a new key for endpoints that accept one. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for the call including all retries. Default: that of the client. */
  readonly timeoutMs?: number | undefined
  /** Further headers. An encrypted call cannot carry them, and they cannot replace the library's. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Replaces members of the client's `retry` for this call. A stream is never retried. */
  readonly retry?: RetryOptions | undefined
}

/** A credential for all calls, or a function that returns one by credential kind; undefined sends no credential. */
export type TokenSource = string | ((kind: CredentialKind) => string | undefined | Promise<string | undefined>)

export interface CallSettings {
  readonly token?: TokenSource | undefined
  readonly userAgent?: string | undefined
  /**
   * Milliseconds for a call including all retries. Default: 15,000 for each attempt and 30,000 for the call; a poll has
   * its `timeout` in addition.
   */
  readonly timeoutMs?: number | undefined
  /** Returns a new idempotency key. Default: a random UUID. */
  readonly newIdempotencyKey?: (() => string) | undefined
}

export interface PreparedCall {
  readonly ok: true
  readonly request: TransportRequest
  readonly token: string | undefined
  /** Idempotency-Key of the call; a failure repeats the key, so that the caller can retry safely. */
  readonly idempotencyKey: string | undefined
  /** False for reads, which need no warning about an unknown outcome after a lost response. */
  readonly mutates: boolean
  /** Success conditions; by default the response needs the envelope, with any data. */
  readonly expected?: Expected
}
