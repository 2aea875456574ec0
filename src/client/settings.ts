import type { CredentialKind } from '../contract/endpoint.js'
import type { Expected } from './response.js'
import type { TransportRequest } from './transport.js'

export interface CallOptions {
  /** The Idempotency-Key header. Default: a new key for endpoints that accept one. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal
  /** Milliseconds for the call including all retries; default 30,000. */
  readonly timeoutMs?: number
}

/** A credential for all calls, or a function that returns one by credential kind; undefined sends no credential. */
export type TokenSource = string | ((kind: CredentialKind) => string | undefined | Promise<string | undefined>)

export interface CallSettings {
  readonly token?: TokenSource
  readonly userAgent?: string
  /** Milliseconds for a call including all retries; default 30,000. */
  readonly timeoutMs?: number
  /** Returns a new idempotency key. Default: a random UUID. */
  readonly newIdempotencyKey?: () => string
}

export interface PreparedCall {
  readonly ok: true
  readonly request: TransportRequest
  readonly token: string | undefined
  /** Repeated in a failure, so that the caller can retry safely with the same Idempotency-Key. */
  readonly idempotencyKey: string | undefined
  /** False for reads: after a lost response, it does not matter whether the server processed a read. */
  readonly mutates: boolean
  /** Success conditions; by default the response needs the envelope, with any data. */
  readonly expected?: Expected
}

export interface UnsendableCall {
  readonly ok: false
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}
