/** What goes over the wire, before any transport has touched it. */
export interface TransportRequest {
  readonly method: string
  /** Origin-relative: path and query. */
  readonly path: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the call at once. */
  readonly signal?: AbortSignal
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs?: number
  /** True when processing it twice has the effect of processing it once: reads, and calls with an Idempotency-Key. */
  readonly repeatable?: boolean
}

export interface TransportResponse {
  readonly status: number
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Of the body, as they came, where the transport has them: an answer may be no text. */
  readonly bytes?: Uint8Array
  /** True when an earlier try of the same request may have been processed, whatever this answer says. */
  readonly maybeProcessed?: boolean
}

/**
 * Sends one request. Wrappers (retry, secure) have the same signature.
 * @throws TransportError when no complete answer arrived.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

/**
 * `refused`: certainly not processed (connection refused, look-up failed, TLS not trusted).
 * `lost`: sent or possibly sent, no complete answer. `timeout`: the same, by the clock. `aborted`: by the caller.
 * `secure`: the encrypted transport refused or was refused; see the error's `secure`.
 */
export type TransportErrorKind = 'refused' | 'lost' | 'timeout' | 'aborted' | 'secure'

/** Why the encrypted transport has no business answer (secure.ts). */
export interface SecureFault {
  /** A code of the failure table or the client (SECURE_PIN_MISMATCH, …), INVALID_RESPONSE, or HTTP_ and the status. */
  readonly code: string
  /** How far the call had come; `local`: nothing of it was sent. */
  readonly phase: 'local' | 'bootstrap' | 'session' | 'dispatch' | 'plain'
  /** HTTP status of the outer answer, 0 when there is none. */
  readonly status: number
  /** Of the outer answer, which is not authenticated. */
  readonly headers: Readonly<Record<string, string>>
  /** True when the same call may succeed later. */
  readonly retryable: boolean
  /** The part of the request that cannot travel. */
  readonly part?: string
}

interface TransportErrorOptions extends ErrorOptions {
  /** False when a timeout or an abort came before anything was sent. Default: true unless `refused`. */
  readonly maybeProcessed?: boolean
  /** Of the kind `secure`. */
  readonly secure?: SecureFault | undefined
}

export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code = 'TRANSPORT_ERROR'
  readonly kind: TransportErrorKind
  /** True when the server may have processed the request all the same. */
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

/** Bytes of a body that a transport reads before it gives up. */
export const maxResponseBytes = 64 * 1024 * 1024
