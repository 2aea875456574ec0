import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkRedeemCode } from '../../src/client/redeem-code.js'

interface Vectors {
  alphabet: string
  redeem_codes: { redeem_code: string }[]
  normalises_to: { redeem_code: string; inputs: string[] }
}
const vectors = JSON.parse(readFileSync(new URL('../vectors/credentials.json', import.meta.url), 'utf8')) as Vectors
const { alphabet, redeem_codes: codes, normalises_to: forms } = vectors

test.each(codes)('checkRedeemCode accepts $redeem_code only with the correct check symbol', ({ redeem_code: code }) => {
  const accepted = [...alphabet].filter((symbol) => checkRedeemCode(code.slice(0, -1) + symbol) === 'ok')
  expect(accepted).toEqual([code.slice(-1)])
})

test.each(forms.inputs)('checkRedeemCode accepts the spelling %j', (input) => {
  expect(checkRedeemCode(input)).toBe('ok')
})

test('checkRedeemCode detects every wrong symbol and every swap of two different symbols', () => {
  const symbols = [...forms.redeem_code.replaceAll('-', '')]
  for (let i = 0; i < 16; i += 1) {
    for (const symbol of alphabet) {
      if (symbol !== symbols[i]) expect(checkRedeemCode(symbols.with(i, symbol).join(''))).toBe('mistyped')
    }
    for (let j = i + 1; j < 16; j += 1) {
      const [a, b] = [symbols[i] ?? '', symbols[j] ?? '']
      if (a !== b) expect(checkRedeemCode(symbols.with(i, b).with(j, a).join(''))).toBe('mistyped')
    }
  }
})

test.each([
  '',
  'M9S3',
  'M9S3-46Q3-D25V-T4F!',
  'M9S3-46Q3-D25V-T4FU',
  'M9S3-46Q3-D25V-T4FJ-0',
  'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ',
])('checkRedeemCode reports %j as malformed', (input) => {
  expect(checkRedeemCode(input)).toBe('malformed')
})

test('checkRedeemCode reads the letters O and l as the digits 0 and 1', () => {
  expect(checkRedeemCode('OOOO-OOOO-OOOO-OOOO')).toBe('ok')
  expect(checkRedeemCode('0123-4567-89AB-CDE4'.replace('1', 'l'))).toBe('ok')
})
