import { encodeBase64url } from '../../values/base64url.js'
import { asMembers } from '../../values/json.js'
import { deriveKeys, type SessionKeys } from '../key-schedule.js'
import { isCanonicalOrigin, isOriginAllowed } from '../origin.js'
import { decodePublicKey } from '../public-key.js'
import { PROTOCOL_VERSION, type RandomBytes, refuse, SESSION_LIFETIME_MS, type SecureRefusal, SUITE } from '../suite.js'
import { nodeHkdf, type ServerKey } from './key.js'

const SID_BYTES = 16
const SALT_BYTES = 32

/** Response of the bootstrap call. `serverTime` is in milliseconds since 1970. */
export interface BootstrapResponse {
  readonly v: number
  readonly suite: string
  readonly enabled: boolean
  readonly kid: string
  /** 87 characters of base64url. */
  readonly serverPublicKey: string
  readonly serverTime: number
}

/** Response of the session call. */
export interface SessionResponse {
  readonly sid: string
  /** 32 bytes, base64url. */
  readonly salt: string
  readonly brand: string
  /** `''` when the session is not bound to an origin. */
  readonly origin: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Session state of the server: the keys, which are secrets, without the salt and the shared secret. */
export interface ServerSession extends SessionKeys {
  readonly sid: string
  readonly kid: string
  readonly origin: string
  /** Expiry in milliseconds since 1970; the session is not valid at this time. */
  readonly expiresAt: number
}

export interface SessionRequest {
  /** The parsed body: `{ clientPublicKey, kid?, v?, suite? }`; `publicKey` is an alias of `clientPublicKey`. */
  readonly body: unknown
  /** The Origin header; undefined without one. */
  readonly origin: string | undefined
}

export interface SessionSettings {
  readonly allowedOrigins: readonly string[]
  /** Brand in the HKDF info of both keys; must not contain '|' or control characters. */
  readonly brand: string
  /** Returns the current key, or the key with this id (kid) while the server still accepts it. */
  readonly keyFor: (kid: string | undefined) => ServerKey | undefined
  /** Milliseconds since 1970. */
  readonly now: number
  readonly randomBytes: RandomBytes
  /** Lifetime of the session in milliseconds; default 600,000. */
  readonly lifetimeMs?: number
}

export type SessionCreation =
  | { readonly ok: true; readonly session: ServerSession; readonly response: SessionResponse }
  | SecureRefusal<
      | 'SECURE_ORIGIN_NOT_ALLOWED'
      | 'SECURE_VERSION_UNSUPPORTED'
      | 'SECURE_PUBLIC_KEY_INVALID'
      | 'SECURE_SESSION_MISMATCH'
    >

export function describeServer(key: ServerKey, enabled: boolean, now: number): BootstrapResponse {
  const { kid, publicKey } = key
  return { v: PROTOCOL_VERSION, suite: SUITE, enabled, kid, serverPublicKey: publicKey, serverTime: now }
}

/** Creates a session after checking origin, version, public key and kid (rules/encryption.md#bootstrap-and-session). */
export function createServerSession(request: SessionRequest, settings: SessionSettings): SessionCreation {
  const { origin = '' } = request
  if (request.origin !== undefined && !isCanonicalOrigin(origin)) return refuse('SECURE_ORIGIN_NOT_ALLOWED')
  if (!isOriginAllowed(settings.allowedOrigins, origin)) return refuse('SECURE_ORIGIN_NOT_ALLOWED')

  const body = asMembers(request.body) ?? {}
  const { v = PROTOCOL_VERSION, suite = SUITE, kid: wanted } = body
  if (v !== PROTOCOL_VERSION || suite !== SUITE) return refuse('SECURE_VERSION_UNSUPPORTED')

  const { clientPublicKey, publicKey } = body
  const text = clientPublicKey ?? publicKey
  const isDoubled = clientPublicKey !== undefined && publicKey !== undefined
  const point = typeof text === 'string' && !isDoubled ? decodePublicKey(text) : undefined
  if (point === undefined) return refuse('SECURE_PUBLIC_KEY_INVALID')

  if (wanted !== undefined && typeof wanted !== 'string') return refuse('SECURE_SESSION_MISMATCH')
  const key = settings.keyFor(wanted)
  if (key === undefined) return refuse('SECURE_SESSION_MISMATCH')

  const { brand, now, randomBytes, lifetimeMs = SESSION_LIFETIME_MS } = settings
  const sid = `ss_${encodeBase64url(randomBytes(SID_BYTES))}`
  const salt = randomBytes(SALT_BYTES)
  const expiresAt = now + lifetimeMs
  const keys = deriveKeys(nodeHkdf, key.agree(point), { sid, salt, brand, origin })
  return {
    ok: true,
    session: { sid, kid: key.kid, origin, expiresAt, ...keys },
    response: { sid, salt: encodeBase64url(salt), brand, origin, expiresAt },
  }
}
