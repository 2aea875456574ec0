import { hasCheckSymbol, readRedeemCode } from '../contract/credential-symbols.js'

/** `malformed`: not 16 symbols of the alphabet. `mistyped`: the check symbol (the last) does not match the others. */
type RedeemCodeCheck = 'ok' | 'malformed' | 'mistyped'

/**
 * Checks the form and check symbol of a redeem code without a call (DECISIONS.md#credentials). The check symbol reveals
 * one wrong symbol or two swapped ones. Only codes of the reference server have this form.
 */
export function checkRedeemCode(value: string): RedeemCodeCheck {
  const symbols = readRedeemCode(value)
  if (symbols === null) return 'malformed'
  return hasCheckSymbol(symbols) ? 'ok' : 'mistyped'
}
