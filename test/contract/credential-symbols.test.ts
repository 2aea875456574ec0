import { expect, it } from 'vitest'
import { checkSymbol } from '../../src/contract/credential-symbols.js'
import vectors from '../vectors/credentials.json' with { type: 'json' }

it.each([...vectors.redeem_codes, ...vectors.qr_tokens])(
  'check symbol of the credential symbols $symbols is $check',
  ({ symbols, check }) => {
    expect(checkSymbol(symbols)).toBe(check)
  },
)

it.each(['U', 'O', 'a', '-', 'é', '𝟘'])(
  'computing the check symbol of a text with the foreign symbol %s throws',
  (foreign) => {
    expect(() => checkSymbol(`0000${foreign}`)).toThrow(/^"symbols" has none of the alphabet at [45]$/)
  },
)
