/** Constants of the encrypted transport and of its only suite (rules/encryption.md#encrypted-transport). */

export const PROTOCOL_VERSION = 1
export const SUITE = 'P256-HKDF-SHA256-A256GCM'

/** Content-Type of dispatch requests and responses. */
export const MEDIA_TYPE = 'application/vnd.platform.secure+json'

/** True for a media type, by default a dispatch's; parameters are ignored. */
export function isMediaType(contentType: string | undefined, type: string = MEDIA_TYPE): boolean {
  return contentType === type || contentType?.split(';', 1)[0]?.trim().toLowerCase() === type
}

export const paths = {
  bootstrap: '/api/v1/secure/bootstrap',
  session: '/api/v1/secure/session',
  dispatch: '/api/v1/secure/dispatch',
} as const

/** Limit of a dispatch request body, in bytes. Responses have no limit. */
export const MAX_ENVELOPE_BYTES = 262_144

/** Maximum difference between the `ts` of a request and the server's clock in either direction (inclusive). */
export const CLOCK_SKEW_MS = 60_000
export const SESSION_LIFETIME_MS = 600_000
/** A client renews its session this long before the session expires. */
export const RENEW_BEFORE_MS = 5_000
/** Limit for a whole client call, including negotiation. */
export const CLIENT_TIMEOUT_MS = 15_000

/** Direction of a message, c2s (client to server) or s2c (server to client). Each direction has its own key. */
export type Direction = 'c2s' | 's2c'

/** Failure codes that the bootstrap, session and dispatch endpoints return without calling a business endpoint. */
export const secureCodes = [
  'METHOD_NOT_ALLOWED',
  'UNSUPPORTED_MEDIA_TYPE',
  'SECURE_ENVELOPE_TOO_LARGE',
  'SECURE_ENVELOPE_INVALID',
  'SECURE_VERSION_UNSUPPORTED',
  'REQUEST_TIMESTAMP_OUT_OF_RANGE',
  'SECURE_SESSION_EXPIRED',
  'SECURE_SESSION_MISMATCH',
  'SECURE_SESSION_ORIGIN_MISMATCH',
  'DECRYPTION_FAILED',
  'REQUEST_REPLAYED',
  'SECURE_PUBLIC_KEY_INVALID',
  'SECURE_ORIGIN_NOT_ALLOWED',
  'SECURE_TRANSPORT_REQUIRED',
  'SECURE_TRANSPORT_DISABLED',
  'SECURE_REQUEST_INVALID',
] as const
export type SecureCode = (typeof secureCodes)[number]

/** A refusal by the server. It quotes no part of the request, which may contain secrets. */
export interface SecureRefusal<Code extends SecureCode = SecureCode> {
  readonly ok: false
  readonly code: Code
}

export function refuse<const Code extends SecureCode>(code: Code): SecureRefusal<Code> {
  return { ok: false, code }
}

/** Returns `size` unpredictable bytes. */
export type RandomBytes = (size: number) => Uint8Array
