import type { Direction } from './suite.js'

export const KEY_BYTES = 32

/** The two steps of HKDF-SHA256 (RFC 5869). */
export interface Hkdf {
  extract(salt: Uint8Array, secret: Uint8Array): Uint8Array
  /** @throws RangeError for more than 255 * 32 bytes. */
  expand(prk: Uint8Array, info: Uint8Array, bytes: number): Uint8Array
}

/** Session parameters from which both sides derive the keys. */
export interface SessionContext {
  readonly sid: string
  /** The decoded bytes, not their base64url text. */
  readonly salt: Uint8Array
  readonly brand: string
  /** `''` when the session is not bound to an origin. */
  readonly origin: string
}

/** Keys of a session: one key of 32 bytes for each direction. */
export interface SessionKeys {
  readonly keyC2s: Uint8Array
  readonly keyS2c: Uint8Array
}

/** Returns the HKDF info of a session key (rules/encryption.md#bootstrap-and-session). */
export function hkdfInfo({ brand, origin, sid }: Omit<SessionContext, 'salt'>, direction: Direction): string {
  return `platform|v1|${brand}|${origin === '' ? '-' : origin}|${sid}|http|${direction}`
}

/** Derives both session keys. `secret` is the 32-byte x coordinate of the shared point with leading zeros. */
export function deriveKeys(hkdf: Hkdf, secret: Uint8Array, context: SessionContext): SessionKeys {
  const prk = hkdf.extract(context.salt, secret)
  const keyOf = (direction: Direction) => hkdf.expand(prk, Buffer.from(hkdfInfo(context, direction)), KEY_BYTES)
  return { keyC2s: keyOf('c2s'), keyS2c: keyOf('s2c') }
}
