import { codeOf } from '../files/error-code.js'
import type { HttpRequest, HttpResponse } from '../secure/http.js'

/** An HTTP request of a call; transports add encryption and retries. */
export type TransportRequest = HttpRequest

export interface TransportResponse extends HttpResponse {
  /** Body as received, if the transport has it: a response may be binary. */
  readonly bytes?: Uint8Array
}

/**
 * Sends one request. `withRetry` and `withSecure` take a transport and return one.
 * @throws TransportError if no complete response arrives
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

/**
 * `refused`: the server certainly did not process the request (connection refused, DNS lookup failed). `untrusted`: the
 * same, because Node does not trust the certificate of the server.
 * `lost`: the request may have arrived, but no complete response did. `timeout`: like `lost`, after `timeoutMs`.
 * `aborted`: the caller aborted the call. `secure`: client or server refused the encrypted transport; see `secure`.
 */
export type TransportErrorKind = 'refused' | 'untrusted' | 'lost' | 'timeout' | 'aborted' | 'secure'

/** Why a call over the encrypted transport has no decrypted response (secure.ts). */
export interface SecureFault {
  /** A code of the failure table or the client (SECURE_PIN_MISMATCH, …), INVALID_RESPONSE, or HTTP_ and the status. */
  readonly code: string
  /** Phase of the encrypted call that failed; `local` means before anything was sent. */
  readonly phase: 'local' | 'bootstrap' | 'session' | 'dispatch' | 'plain'
  /** HTTP status of the unencrypted outer response; 0 without a response. */
  readonly status: number
  /** Headers of the unencrypted outer response, which an attacker could forge. */
  readonly headers: Readonly<Record<string, string>>
  /** True if the same call may succeed later. */
  readonly retryable: boolean
  /** Part of the request that does not fit an envelope: path or body. */
  readonly part?: string
}

interface TransportErrorOptions {
  readonly cause?: unknown
  /** False for a timeout or abort before anything was sent. Default: false for `refused` and `untrusted`, else true. */
  readonly maybeProcessed?: boolean
  /** Details of a `secure` error. */
  readonly secure?: SecureFault | undefined
}

export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code = 'TRANSPORT_ERROR'
  readonly kind: TransportErrorKind
  /** True if the server may have processed the request despite the error. */
  readonly maybeProcessed: boolean
  readonly secure: SecureFault | undefined
  constructor(kind: TransportErrorKind, message: string, options?: TransportErrorOptions) {
    super(message, options)
    this.kind = kind
    this.maybeProcessed = options?.maybeProcessed ?? (kind !== 'refused' && kind !== 'untrusted')
    this.secure = options?.secure
  }
}

/** Checks the code, not the class: a custom transport may throw the error class of another copy of this library. */
export const isTransportError = (error: unknown): error is TransportError => codeOf(error) === 'TRANSPORT_ERROR'

/** Maximum bytes of a response body. */
export const maxResponseBytes = 64 * 1024 * 1024

/** Maximum delay of a Node timer, about 25 days; a timer with a longer delay would fire immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

interface CallLimits {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number | undefined
}

/** @throws TransportError if the caller has already aborted, and TypeError unless the signal is an AbortSignal */
export function throwIfAborted({ signal }: CallLimits): void {
  const isSignal =
    signal && [signal.addEventListener, signal.removeEventListener].every((it) => typeof it === 'function')
  if (signal && !(isSignal && typeof signal.aborted === 'boolean'))
    throw new TypeError('signal must be an AbortSignal, such as the signal of new AbortController()')
  if (signal?.aborted) throw new TransportError('aborted', 'The call was aborted', { maybeProcessed: false })
}

/**
 * Calls `end` on a timeout or when the caller aborts. Returns a function that removes the timer and the abort
 * listener; call it after the exchange.
 */
export function watchLifetime(
  { signal, timeoutMs }: CallLimits,
  end: (kind: 'timeout' | 'aborted', message: string) => void,
): () => void {
  const onAbort = () => end('aborted', 'The call was aborted')
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => end('timeout', `No complete response within ${Math.round(timeoutMs)} ms`),
          Math.min(timeoutMs, LONGEST_TIMER_MS),
        )
  return () => {
    signal?.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}
