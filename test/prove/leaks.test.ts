import { expect, test } from 'vitest'
import { leaksOf, redactAll } from '../../src/prove/leaks.js'
import type { Maker } from '../../src/prove/record.js'
import { exit, sent } from '../support/prove/outcomes.js'

const secrets = {
  'the application token': 'app_live_0123456789abcdef',
  'the code of the voucher': 'M9S3-46Q3-D25V-T4FJ',
}
const ownCode = 'K7P2-9XQ4-B3NM-W8RT'
const issue = sent('vouchers.issue', { data: { credentials: [{ type: 'redeem_code', value: ownCode }] } })

const leaks = (stdout: string, stderr = '', maker: Maker = 'action', state: string | null = null) =>
  leaksOf([{ exit: exit({ stdout, stderr }), maker }], state, [issue], secrets)

test('a program that prints no secret has no leak', () => {
  expect(leaks('order-1: paid, …T4FJ', 'request req_1', 'action', '{"paid":1}')).toEqual([])
})

test.each(['stdout', 'stderr'] as const)('a token in %s is a finding', (stream) => {
  const text = `Authorization: Bearer ${secrets['the application token']}`
  const found = stream === 'stdout' ? leaks(text) : leaks('', text)
  expect(found).toEqual([{ what: 'the application token', where: `${stream} of the action`, isFinding: true }])
})

test.each([
  ['as it is', 'M9S3-46Q3-D25V-T4FJ'],
  ['without hyphens', 'M9S346Q3D25VT4FJ'],
  ['in lower case', 'm9s3-46q3-d25v-t4fj'],
  ['in lower case without hyphens', 'm9s346q3d25vt4fj'],
])('a code that the program did not issue is found %s', (_form, text) => {
  expect(leaks(`redeeming ${text}`)).toEqual([
    { what: 'the code of the voucher', where: 'stdout of the action', isFinding: true },
  ])
})

test('a token in another case is no leak, because it is another token', () => {
  expect(leaks(secrets['the application token'].toUpperCase())).toEqual([])
})

const own = 'the code of a voucher that it issued'

test('the code of an own issue in stdout of the action is only a remark', () => {
  expect(leaks(`your code: ${ownCode}`)).toEqual([{ what: own, where: 'stdout of the action', isFinding: false }])
})

test('the code of an own issue in stderr of the action is a finding', () => {
  expect(leaks('', ownCode)).toEqual([{ what: own, where: 'stderr of the action', isFinding: true }])
})

test.each(['stdout', 'stderr'])('the code of an own issue in %s of the app is a finding: it is a log', (stream) => {
  const found = stream === 'stdout' ? leaks(ownCode, '', 'app') : leaks('', ownCode, 'app')
  expect(found).toEqual([{ what: own, where: `${stream} of the app`, isFinding: true }])
})

test('--state may hold the code of an own issue', () => {
  expect(leaks('', '', 'action', JSON.stringify({ code: ownCode }))).toEqual([])
})

test('--state with a token or the code of another issue is a finding', () => {
  const found = leaks('', '', 'action', JSON.stringify(Object.values(secrets)))
  expect(found.map(({ what, where, isFinding }) => [what, where, isFinding])).toEqual([
    ['the application token', 'the output of --state', true],
    ['the code of the voucher', 'the output of --state', true],
  ])
})

test('a secret that several runs print is one leak', () => {
  const text = secrets['the application token']
  const one = { exit: exit({ stdout: text }), maker: 'action' } as const
  expect(leaksOf([one, one], null, [], secrets)).toHaveLength(1)
})

test('an error shows the name of a secret instead of the secret', () => {
  const text = `token ${secrets['the application token']}, code m9s346q3d25vt4fj, M9S3-46Q3-D25V-T4FJ, key-1`
  expect(redactAll(text, secrets)).toBe(
    'token [the application token], code [the code of the voucher], [the code of the voucher], key-1',
  )
})
