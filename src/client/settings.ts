import type { CredentialKind } from '../contract/endpoint.js'

export interface CallOptions {
  /** The Idempotency-Key. Default: a new one for idempotent endpoints. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal
  /** Milliseconds for the call with all its retries; default 30,000. */
  readonly timeoutMs?: number
}

/** One credential for every call, or a function of the kind that the endpoint takes; undefined sends none. */
export type TokenSource = string | ((kind: CredentialKind) => string | undefined | Promise<string | undefined>)

export interface CallSettings {
  readonly token?: TokenSource
  readonly userAgent?: string
  /** Milliseconds; default 30,000. */
  readonly timeoutMs?: number
  /** Default: random UUIDs. */
  readonly newIdempotencyKey?: () => string
}
