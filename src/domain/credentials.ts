import { hash } from 'node:crypto'
import { checkSymbol, hasCheckSymbol, readQrData, readRedeemCode } from '../contract/credential-symbols.js'
import type { CredentialType } from '../contract/endpoint.js'
import { encodeBits } from './ids.js'

/** Form, derivation and index of credentials (rules/vouchers.md#credentials). */

const CODE_SYMBOLS = 15
const QR_SYMBOLS = 32
const QR_PREFIX = 'VQ1-'

const QR_FORM = /^VQ1-[0-9A-HJKMNP-TV-Z]{33}$/

type ParsedCredential = { ok: true; normalised: string } | { ok: false; reason: 'malformed' | 'check_failed' }

/**
 * Parses typed or scanned input. `normalised` holds the 16 symbols of a redeem code without dashes, or the whole QR
 * token.
 */
export function parseCredential(type: CredentialType, value: string): ParsedCredential {
  const normalised = type === 'redeem_code' ? readRedeemCode(value) : readQrToken(value)
  if (normalised === null) return { ok: false, reason: 'malformed' }
  const symbols = type === 'redeem_code' ? normalised : normalised.slice(QR_PREFIX.length)
  return hasCheckSymbol(symbols) ? { ok: true, normalised } : { ok: false, reason: 'check_failed' }
}

function readQrToken(value: string): string | null {
  // Fast path for data in their issued form.
  const token = QR_FORM.test(value) ? value : readQrData(value)
  return QR_FORM.test(token) ? token : null
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

const BLOCK_BYTES = 64

const padsOfKey = new WeakMap<Uint8Array, { inner: Uint8Array; outer: Uint8Array }>()

/**
 * Computes HMAC-SHA256 (RFC 2104) by two one-shot hashes. createHmac takes two to four times as long because of a
 * native object, and an issue needs four HMACs.
 * @param key at most 64 bytes; callers must not change the array, because its pads are cached
 * @throws RangeError for a longer key
 */
function hmacSha256(key: Uint8Array, text: string, encoding: 'base64url' | 'binary'): string {
  const { inner, outer } = padsOf(key)
  const digest = hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'binary')
  return hash('sha256', Buffer.concat([outer, Buffer.from(digest, 'binary')]), encoding)
}

function padsOf(key: Uint8Array): { inner: Uint8Array; outer: Uint8Array } {
  let pads = padsOfKey.get(key)
  if (pads === undefined) {
    if (key.length > BLOCK_BYTES) throw new RangeError(`"key" must have at most ${BLOCK_BYTES} bytes`)
    const block = Buffer.concat([key], BLOCK_BYTES)
    pads = { inner: block.map((byte) => byte ^ 0x36), outer: block.map((byte) => byte ^ 0x5c) }
    padsOfKey.set(key, pads)
  }
  return pads
}
