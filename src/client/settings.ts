import type { CredentialKind } from '../contract/endpoint.js'

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
