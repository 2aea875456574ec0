import { checkSymbol } from '../../../contract/credential-symbols.js'

/** The symbols of Crockford's base 32, as a character class of a pattern. */
export const SYMBOL = '[0-9A-HJKMNP-TV-Z]'

/** A redeem code of 15 symbols, with its check symbol and dashes. */
export function codeOf(symbols: string): string {
  return `${symbols}${checkSymbol(symbols)}`.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Another symbol than this one. */
export const otherSymbol = (symbol: string): string => (symbol === '0' ? '1' : '0')
