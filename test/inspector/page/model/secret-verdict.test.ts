import { expect, test } from 'vitest'
import type { DeliveryDetail } from '../../../../src/contract/platform/deliveries.js'
import { verdictOf } from '../../../../src/inspector/page/model/secret-verdict.js'

const secrets = [
  { which: 'current', signature: 'a', sent: true, until: null },
  { which: 'previous', signature: 'b', sent: false, until: null },
]
const detailOf = (status: string) => ({ signature: { secrets }, delivery: { status } }) as unknown as DeliveryDetail

test('verdict on a secret that makes no signature is that it is a different one', () => {
  expect(verdictOf(null, detailOf('failed'))).toEqual([
    'bad',
    'This secret gives another signature: the app uses a different secret.',
  ])
})

test('verdict on a secret that signed but is not in use is bad', () => {
  const [tone, text] = verdictOf({ index: 2, difference: '' }, detailOf('failed'))
  expect(tone).toBe('bad')
  expect(text).toContain('not in use')
})

test('verdict on a matching secret is good, but doubts the bytes of a failed delivery', () => {
  const found = { index: 0, difference: '' }
  const [tone, text] = verdictOf(found, detailOf('failed'))
  expect(tone).toBe('good')
  expect(text).toContain('matches')
  expect(text).toContain('other bytes')
  expect(verdictOf(found, detailOf('delivered'))[1]).not.toContain('other bytes')
})

test('verdict on a secret that matches after a correction is bad and names the mistake', () => {
  const [tone, text] = verdictOf({ index: 0, difference: 'quotes' }, detailOf('failed'))
  expect(tone).toBe('bad')
  expect(text).toContain('quotes')
})

test('verdict on a secret whose signature was not sent says that it is not the cause', () => {
  expect(verdictOf({ index: 1, difference: '' }, detailOf('failed'))[0]).toBe('bad')
})
