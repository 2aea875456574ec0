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
}

export interface TransportResponse {
  readonly status: number
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Sends one request. Wrappers (retry, secure) have the same signature.
 * @throws TransportError when no complete answer arrived.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>

/**
 * `refused`: certainly not processed (connection refused, look-up failed, TLS not trusted).
 * `lost`: sent or possibly sent, no complete answer. `timeout`: the same, by the clock. `aborted`: by the caller.
 */
export type TransportErrorKind = 'refused' | 'lost' | 'timeout' | 'aborted'

export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly kind: TransportErrorKind
  constructor(kind: TransportErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}
