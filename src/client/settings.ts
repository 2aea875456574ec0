import type { CredentialKind } from '../contract/endpoint.js'

export interface CallOptions {
  /** Sent as Idempotency-Key; made fresh for idempotent endpoints when absent. */
  readonly idempotencyKey?: string | undefined
  readonly signal?: AbortSignal
  /** Milliseconds for the call with all its repeats; default 30,000. */
  readonly timeoutMs?: number
}

/** One credential for every call, or a choice by the kind that the endpoint takes; undefined sends none. */
export type TokenSource = string | ((kind: CredentialKind) => string | undefined | Promise<string | undefined>)

export interface CallSettings {
  readonly token?: TokenSource
  readonly userAgent?: string
  /** Milliseconds; default 30,000. */
  readonly timeoutMs?: number
  /** Default: random UUIDs. */
  readonly newIdempotencyKey?: () => string
}
