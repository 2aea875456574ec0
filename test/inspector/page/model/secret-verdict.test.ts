import { expect, test } from 'vitest'
import type { DeliveryDetail } from '../../../../src/contract/platform/deliveries.js'
import { verdictOf } from '../../../../src/inspector/page/model/secret-verdict.js'

const secrets = [
  { which: 'current', signature: 'a', sent: true, until: null },
  { which: 'previous', signature: 'b', sent: false, until: null },
]
const detailOf = (status: string) => ({ signature: { secrets }, delivery: { status } }) as unknown as DeliveryDetail

test('a secret that makes no signature is said to be a different one', () => {
  expect(verdictOf(null, detailOf('failed'))).toEqual([
    'bad',
    'This secret gives another signature: the app uses a different secret.',
  ])
})

test('a secret that made the sent signature without being in use is bad', () => {
  const [tone, text] = verdictOf({ index: 2, difference: '' }, detailOf('failed'))
  expect(tone).toBe('bad')
  expect(text).toContain('not in use')
})

test('a secret that matches is good, and of a failed delivery the bytes are in doubt', () => {
  const found = { index: 0, difference: '' }
  const [tone, text] = verdictOf(found, detailOf('failed'))
  expect(tone).toBe('good')
  expect(text).toContain('matches')
  expect(text).toContain('other bytes')
  expect(verdictOf(found, detailOf('delivered'))[1]).not.toContain('other bytes')
})

test('a secret that matches only without a mistake is bad, and the mistake is named', () => {
  const [tone, text] = verdictOf({ index: 0, difference: 'quotes' }, detailOf('failed'))
  expect(tone).toBe('bad')
  expect(text).toContain('quotes')
})

test('a secret whose signature was not sent is not the one to look at', () => {
  expect(verdictOf({ index: 1, difference: '' }, detailOf('failed'))[0]).toBe('bad')
})
