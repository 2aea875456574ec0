import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { RandomBytes } from './ids.js'

/** Prefixes of application token, bot token and operator key (rules/callers.md#token-form). */
const prefixes = ['sop_', 'sbot_', 'opk_'] as const
type TokenPrefix = (typeof prefixes)[number]

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_SYMBOLS = 30
const CHECKSUM_SYMBOLS = 6
const FORM = /^(?:sop|sbot|opk)_[0-9A-Za-z]{36}$/

export function makeToken(prefix: TokenPrefix, random: RandomBytes): string {
  let symbols = ''
  while (symbols.length < RANDOM_SYMBOLS) {
    for (const byte of random(RANDOM_SYMBOLS - symbols.length)) {
      // Reject bytes from 248 (4 * 62): they would make the first symbols of the alphabet more likely.
      if (byte < 248) symbols += BASE62[byte % 62]
    }
  }
  return prefix + symbols + checksum(prefix + symbols)
}

/** Returns the kind of token by the prefix of a value, without validating the value. */
export function tokenKind(value: string): TokenPrefix | null {
  return prefixes.find((prefix) => value.startsWith(prefix)) ?? null
}

/** Checks form and checksum, so the server refuses a mistyped token without a look-up. */
export function isWellFormedToken(value: string): boolean {
  return FORM.test(value) && value.endsWith(checksum(value.slice(0, -CHECKSUM_SYMBOLS)))
}

/** Returns the correct checksum for a value in the form of a token; undefined for another form. */
export function tokenChecksum(value: string): string | undefined {
  return FORM.test(value) ? checksum(value.slice(0, -CHECKSUM_SYMBOLS)) : undefined
}

/** SHA-256 of a token in base64url, the lookup key in the store. 178 random bits need neither a key nor a slow hash. */
export function hashToken(value: string): string {
  return hash('sha256', value, 'base64url')
}

export function tokenPrefixOf(value: string): string {
  return value.slice(0, 8)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let symbols = ''
  for (let i = 0; i < CHECKSUM_SYMBOLS; i++) {
    symbols = BASE62[rest % 62] + symbols
    rest = Math.floor(rest / 62)
  }
  return symbols
}
