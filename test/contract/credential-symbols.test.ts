import { expect, it } from 'vitest'
import { checkRedeemCode, checkSymbol, readQrData } from '../../src/contract/credential-symbols.js'
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

it.each(vectors.redeem_codes)('checkRedeemCode accepts only the correct check symbol of $redeem_code', (vector) => {
  const { redeem_code: code } = vector
  const results = [...vectors.alphabet].map((symbol) => checkRedeemCode(code.slice(0, -1) + symbol))
  expect(results).toEqual([...vectors.alphabet].map((symbol) => (code.endsWith(symbol) ? 'ok' : 'mistyped')))
})

it.each([...vectors.normalises_to.inputs, 'OOOO-OOOO-OOOO-OOOO'])(
  'checkRedeemCode accepts the spelling %j',
  (input) => {
    expect(checkRedeemCode(input)).toBe('ok')
  },
)

it.each([
  '',
  'M9S3',
  'M9S3-46Q3-D25V-T4F!',
  'M9S3-46Q3-D25V-T4FU',
  'M9S3-46Q3-D25V-T4FJ-0',
  'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ',
])('checkRedeemCode reports %j as malformed', (input) => {
  expect(checkRedeemCode(input)).toBe('malformed')
})

it.each([
  [']Q1 vq1-ab', 'VQ1-AB'],
  [']d2VQ1-AB', 'VQ1-AB'],
  ['\u0085VQ1-AB\u0085', 'VQ1-AB'],
  ['\u200bVQ1\u00ad-AB ', 'VQ1-AB'],
  ['VQ1-\u0085AB', 'VQ1- AB'],
  ['VQ1-]Q1AB', 'VQ1-]Q1AB'],
])('readQrData() returns %j as %j', (given, read) => {
  expect(readQrData(given)).toBe(read)
})
