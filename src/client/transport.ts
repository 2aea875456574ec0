/** A request before any transport has changed it. */
export interface TransportRequest {
  readonly method: string
  /** Origin-relative: path and query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Aborts the call. */
  readonly signal?: AbortSignal
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs?: number
  /** True if processing it twice has the effect of processing it once: reads, and calls with an Idempotency-Key. */
  readonly repeatable?: boolean
}

export interface TransportResponse {
  readonly status: number
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The received bytes of the body, if the transport has them: a response may be binary. */
  readonly bytes?: Uint8Array
  /** True if the server may have processed an earlier attempt, even if this response is a refusal. */
  readonly maybeProcessed?: boolean
}

/**
 * Sends one request. Wrappers (retry, secure) have the same signature.
 * @throws TransportError if no complete response arrives
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

/**
 * `refused`: certainly not processed (connection refused, DNS lookup failed, TLS not trusted).
 * `lost`: possibly sent, without a complete response. `timeout`: the same after `timeoutMs`. `aborted`: by the caller.
 * `secure`: client or server refused the encrypted transport; see the error's `secure`.
 */
export type TransportErrorKind = 'refused' | 'lost' | 'timeout' | 'aborted' | 'secure'

/** Why an encrypted call has no business response (secure.ts). */
export interface SecureFault {
  /** A code of the failure table or the client (SECURE_PIN_MISMATCH, …), INVALID_RESPONSE, or HTTP_ and the status. */
  readonly code: string
  /** The phase that failed; `local`: before sending. */
  readonly phase: 'local' | 'bootstrap' | 'session' | 'dispatch' | 'plain'
  /** HTTP status of the outer response; 0 without one. */
  readonly status: number
  /** Headers of the outer response, which is not authenticated. */
  readonly headers: Readonly<Record<string, string>>
  /** True if the same call may succeed later. */
  readonly retryable: boolean
  /** The part of the request that does not fit an envelope. */
  readonly part?: string
}

interface TransportErrorOptions extends ErrorOptions {
  /** False for a timeout or abort before anything was sent. Default: true unless `refused`. */
  readonly maybeProcessed?: boolean
  /** For the kind `secure`. */
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
    this.maybeProcessed = options?.maybeProcessed ?? kind !== 'refused'
    this.secure = options?.secure
  }
}

/** Recognises the error by its code, because a custom transport may throw the class of another copy of this library. */
export const isTransportError = (error: unknown): error is TransportError =>
  error instanceof Error && 'code' in error && error.code === 'TRANSPORT_ERROR'

/** Maximum bytes of a response body. */
export const maxResponseBytes = 64 * 1024 * 1024
