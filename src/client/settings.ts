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
  /** Idempotency-Key of the call; a failure repeats the key, so that the caller can retry safely. */
  readonly idempotencyKey: string | undefined
  /** False for reads, which need no warning about an unknown outcome after a lost response. */
  readonly mutates: boolean
  /** Success conditions; by default the response needs the envelope, with any data. */
  readonly expected?: Expected
}

export interface UnsendableCall {
  readonly ok: false
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}
