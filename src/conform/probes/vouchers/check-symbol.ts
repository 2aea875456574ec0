/** The symbols of Crockford's base 32, as a character class of a pattern. */
export const SYMBOL = '[0-9A-HJKMNP-TV-Z]'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Check symbol over GF(32): the sum of 2^(i+1) * d_i, with the polynomial x^5 + x^2 + 1. */
export function checkSymbol(symbols: string): string {
  let sum = 0
  for (const symbol of [...symbols].reverse()) {
    const element = sum ^ ALPHABET.indexOf(symbol)
    sum = element & 16 ? (element << 1) ^ 0b100101 : element << 1
  }
  return ALPHABET.charAt(sum)
}

/** A redeem code of 15 symbols, with its check symbol and dashes. */
export function codeOf(symbols: string): string {
  return `${symbols}${checkSymbol(symbols)}`.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Another symbol than this one. */
export const otherSymbol = (symbol: string): string => (symbol === '0' ? '1' : '0')
