/** Symbols of credentials, check symbol, and permitted spellings of a redeem code (rules/vouchers.md#credentials). */

/** Crockford's base 32 without I, L, O and U: the alphabet of ids (ULID) and of credentials. */
export const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

const CODE_FORM = /^[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}$/
const CODE_SYMBOLS_FORM = /^[0-9A-HJKMNP-TV-Z]{16}$/

/** White space, dashes (hyphens, minus signs) and zero-width characters (joiners, marks, the soft hyphen). */
const DECORATION = /[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]/gu

/** Returns typed or scanned QR data as issued. `]Q1` and `]d2` are AIM identifiers, which scanners put before them. */
export const readQrData = (value: string): string =>
  value
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    // White space of Unicode that trim() leaves.
    .replaceAll('\u0085', ' ')
    .trim()
    .replace(/^\](?:Q[0-6]|d[12])\s*/i, '')
    .toUpperCase()

/** Returns the 16 symbols of a typed or scanned redeem code; null if it is malformed. */
export function readRedeemCode(value: string): string | null {
  // Fast path for codes in their issued form: Unicode normalisation is the most expensive step here.
  if (CODE_FORM.test(value)) return value.slice(0, 4) + value.slice(5, 9) + value.slice(10, 14) + value.slice(15)
  const plain = /^[0-9A-Za-z]*$/.test(value) ? value : value.normalize('NFKC').replace(DECORATION, '')
  const symbols = plain.toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return CODE_SYMBOLS_FORM.test(symbols) ? symbols : null
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

/** True if the last symbol is the correct check symbol of the others. */
export const hasCheckSymbol = (symbols: string): boolean => symbols.endsWith(checkSymbol(symbols.slice(0, -1)))

/** `malformed`: not 16 symbols of the alphabet. `mistyped`: the check symbol (the last) does not match the others. */
type RedeemCodeCheck = 'ok' | 'malformed' | 'mistyped'

/**
 * Checks the form and check symbol of a redeem code without a call (rules/vouchers.md#credentials). The check symbol
 * reveals one wrong symbol or two swapped ones. Only codes of the reference server have this form.
 */
export function checkRedeemCode(value: string): RedeemCodeCheck {
  const symbols = readRedeemCode(value)
  if (symbols === null) return 'malformed'
  return hasCheckSymbol(symbols) ? 'ok' : 'mistyped'
}
