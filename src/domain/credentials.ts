import type { CredentialType } from '../contract/endpoint.js'
import { ALPHABET, encodeBits } from './crockford.js'
import { hmacSha256 } from './hmac.js'

/** Form, normalisation, check symbol, derivation and index of credentials (DECISIONS.md#credentials). */

const CODE_SYMBOLS = 15
const QR_SYMBOLS = 32
const QR_PREFIX = 'VQ1-'

const CODE_FORM = /^[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}$/
const CODE_SYMBOLS_FORM = /^[0-9A-HJKMNP-TV-Z]{16}$/
const QR_FORM = /^VQ1-[0-9A-HJKMNP-TV-Z]{33}$/

/** White space, dashes (hyphens, minus signs) and zero-width characters (joiners, marks, the soft hyphen). */
const DECORATION = /[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]/gu

type ParsedCredential = { ok: true; normalised: string } | { ok: false; reason: 'malformed' | 'check_failed' }

/**
 * Parses typed or scanned input. `normalised` holds the 16 symbols of a redeem code without dashes, or the whole QR
 * token.
 */
export function parseCredential(type: CredentialType, value: string): ParsedCredential {
  const normalised = type === 'redeem_code' ? readRedeemCode(value) : readQrToken(value)
  if (normalised === null) return { ok: false, reason: 'malformed' }
  const symbols = type === 'redeem_code' ? normalised : normalised.slice(QR_PREFIX.length)
  return symbols.endsWith(checkSymbol(symbols.slice(0, -1)))
    ? { ok: true, normalised }
    : { ok: false, reason: 'check_failed' }
}

function readRedeemCode(value: string): string | null {
  // Fast path for codes in their issued form: Unicode normalisation is the most expensive step here.
  if (CODE_FORM.test(value)) return value.slice(0, 4) + value.slice(5, 9) + value.slice(10, 14) + value.slice(15)
  const symbols = value
    .normalize('NFKC')
    .replace(DECORATION, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  return CODE_SYMBOLS_FORM.test(symbols) ? symbols : null
}

function readQrToken(value: string): string | null {
  const token = value.trim()
  return QR_FORM.test(token) ? token : null
}

const NOT_A_SYMBOL = 255
const VALUES = new Uint8Array(128).fill(NOT_A_SYMBOL)
for (let value = 0; value < ALPHABET.length; value++) VALUES[ALPHABET.charCodeAt(value)] = value

/**
 * c = sum of a^(i+1) * d_i over GF(32), polynomial x^5+x^2+1, a = 2. Detects any wrong symbol, and any swap within a
 * redeem code. The powers of a repeat after 31, so in a QR token two swaps go undetected (first and 32nd symbol, 31st
 * and check symbol); the QR code's own error correction covers those.
 * @throws RangeError for a symbol outside the alphabet.
 */
export function checkSymbol(symbols: string): string {
  let sum = 0
  for (let i = symbols.length - 1; i >= 0; i--) {
    const value = VALUES[symbols.charCodeAt(i)] ?? NOT_A_SYMBOL
    if (value === NOT_A_SYMBOL) throw new RangeError(`"symbols" has none of the alphabet at ${i}`)
    sum = timesTwo(sum ^ value)
  }
  return ALPHABET[sum] as string
}

function timesTwo(element: number): number {
  return element & 16 ? (element << 1) ^ 0b100101 : element << 1
}

/**
 * Derives a credential in display form, `XXXX-XXXX-XXXX-XXXX` or `VQ1-…`. The store never holds it: the same arguments
 * give the same credential.
 * @param counter incremented after a collision, which gives an unrelated credential
 */
export function deriveCredential(key: Uint8Array, voucherId: string, type: CredentialType, counter: number): string {
  // Neither a type nor a counter contains a colon, so different arguments always give different texts.
  const bits = Buffer.from(hmacSha256(key, `${type}:${counter}:${voucherId}`, 'binary'), 'binary')
  const symbols = encodeBits(bits, type === 'redeem_code' ? CODE_SYMBOLS : QR_SYMBOLS)
  const checked = symbols + checkSymbol(symbols)
  if (type === 'qr_token') return QR_PREFIX + checked
  return `${checked.slice(0, 4)}-${checked.slice(4, 8)}-${checked.slice(8, 12)}-${checked.slice(12)}`
}

/**
 * Returns the unique index value that the store holds instead of the credential: HMAC-SHA256, base64url.
 * @param normalised from `parseCredential`
 */
export function indexCredential(key: Uint8Array, type: CredentialType, normalised: string): string {
  return hmacSha256(key, `${type}:${normalised}`, 'base64url')
}

export function codeHint(redeemCode: string): string {
  return redeemCode.slice(-4)
}
