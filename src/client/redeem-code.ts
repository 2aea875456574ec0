const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE = /^[0-9A-HJKMNP-TV-Z]{16}$/

/** Separators that people type between symbols: white space, dashes and zero-width characters. */
const DECORATION = /[\p{White_Space}\p{Dash}\p{Default_Ignorable_Code_Point}]/gu

/** `malformed`: not 16 symbols of the alphabet. `mistyped`: the check symbol (the last) does not match the others. */
type RedeemCodeCheck = 'ok' | 'malformed' | 'mistyped'

/**
 * Checks the form and check symbol of a redeem code without a call (DECISIONS.md#credentials). The check symbol reveals
 * one wrong symbol or two swapped ones. Only codes of the reference server have this form.
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
