const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE = /^[0-9A-HJKMNP-TV-Z]{16}$/

/** What people type around the symbols: white space, dashes, and characters without width. */
const DECORATION = /[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]/gu

/** `malformed`: not 16 symbols of the alphabet. `mistyped`: the check symbol does not fit the other fifteen. */
type RedeemCodeCheck = 'ok' | 'malformed' | 'mistyped'

/**
 * Checks a redeem code of the reference server before a call (DECISIONS.md#credentials): it finds a wrong symbol or two
 * swapped ones. Other servers may form their codes in any way.
 */
export function checkRedeemCode(value: string): RedeemCodeCheck {
  const symbols = value
    .normalize('NFKC')
    .replace(DECORATION, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  if (!CODE.test(symbols)) return 'malformed'
  // Horner's rule over GF(32): c = sum of 2^(i+1) * d_i, reduced by x^5+x^2+1.
  const sum = [...symbols.slice(0, 15)].reduceRight((rest, symbol) => double(rest ^ ALPHABET.indexOf(symbol)), 0)
  return symbols[15] === ALPHABET[sum] ? 'ok' : 'mistyped'
}

function double(element: number): number {
  return element < 16 ? element << 1 : (element << 1) ^ 0b100101
}
