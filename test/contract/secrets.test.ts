import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replaceSecretForms, secretForms } from '../../src/contract/secrets.js'

const shown = (text: string) =>
  replaceSecretForms(
    text,
    () => '[token]',
    () => '[code]',
  )

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl'

test.each([
  [`Bearer ${jwt}`, 'Bearer [token]'],
  [`a-long-name.${jwt}`, 'a-long-name.[token]'],
  [`key_${jwt}, then`, 'key_[token], then'],
  ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.', '[token]'],
  ['sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ.', '[token].'],
  ['M9S3-46Q3-D25V-T4FJ', '[code]'],
  ['m9s3 46q3\u200bd25v\u2013t4fj', '[code]'],
  ['redeem-M9S346Q3D25VT4FJ-1', 'redeem-[code]-1'],
  ['The code m9s3 46q3 d25v t4fj is used', 'The code [code] is used'],
  [String.raw`"x\nM9S3-46Q3-D25V-T4FJ"`, String.raw`"x\n[code]"`],
  ['/%22M9S3-46Q3-D25V-T4FJ%22', '/%22[code]%22'],
  ['/M9S3%2046Q3%20D25V%20T4FJ?', '/[code]?'],
  ['--m9s3 46q3 d25v t4fj', '--[code]'],
  ['m9s-346-q3d-25v-t4f-j', '[code]'],
  ['\uff2d9s346q3d25vt4fj', '[code]'],
  [String.raw`"x\nsop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ"`, String.raw`"x\n[token]"`],
  ['sop%5FH2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ', '[token]'],
  [jwt.replaceAll('.', '%2E'), '[token]'],
  ['m9 s3 46 q3 d2 5v t4 fj', '[code]'],
  ['M9 S3-46 Q3 D2 5V-T4%20FJ, then', '[code], then'],
  ['M9S3%2D46Q3%2dD25V%2DT4FJ', '[code]'],
  [String.raw`"M9S3\n46Q3\nD25V\nT4FJ"`, '"[code]"'],
  ['M9S3-46Q3-D25V-T4FJ'.split('').join('\u200b'), '[code]'],
  ['VQ1%2D0123456789ABCDEFGHJKMNPQRSTVWXYZ0', '[code]'],
  ['a12b c34d e56f abc5', '[code]'],
  ['key a12bc34de56fabc5', 'key [code]'],
  ['TILL-0001-M9S3-46Q3-D25V-T4FJ', '[code]'],
  ['4bf92f3577b34da6a3ce929d0e0e4736-M9S3-46Q3-D25V-T4FJ', '4bf92f3577b34da6a3ce929d0e0e4736-[code]'],
])('the secret in %j is hidden', { tags: 'hidden-values/1' }, (text, expected) => expect(shown(text)).toBe(expected))

test.each([
  'eyJ is how a JWT begins',
  'profiles list --json',
  'm9s3 46q3 d25v t4fk',
  'a-word-of-eleven.and-another-word',
  'vch_01KAJ3XQ8Y7M2N4P6R8T0V2W4X',
  'https://hockeyjerseyshop.vouchers.example',
  'chatsbot_production_europe',
  'moneyJournalApp.production',
  'topk_results_2026_11_23.csv',
  '00-4bf92f3577b34da6a3ce929d0e0e4736-a12bc34de56fabc5-01',
  '1000000000000002',
  '12 34 56 78 90 12 00 14',
  '0B2F6A1E-1C2D-4E3F-8A9B-0C1D2E3F4A5B',
])('replaceSecretForms() does not change %j', (text) => expect(shown(text)).toBe(text))

test('replaceSecretForms() does not change a UUID, such as a generated idempotency key', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => shown(`key ${id}`) === `key ${id}`),
    { seed: 1, numRuns: 2_000 },
  )
})

test.each(secretForms)(
  'replaceSecretForms() hides the example of a $what',
  { tags: ['secrets-of-exchanges/2', 'hidden-values/1'] },
  ({ example, isCode }) => {
    expect(shown(`was ${example}`)).toBe(isCode ? 'was [code]' : 'was [token]')
  },
)

// With quadratic time each of these texts would take minutes.
test.each(['eyJ', 'eyJ-', 'aaaaaaaaaaa', 'aaa1-', 'aaa1 ', 'a.', 'VQ1-', 'sop_', '%20', '\u200b'])(
  'replaceSecretForms() takes linear time for a megabyte of "%s"',
  (part) => {
    const text = part.repeat(1_000_000 / part.length)
    expect(shown(`${text} M9S3-46Q3-D25V-T4FJ`)).toMatch(/\[code\]$/)
  },
)
