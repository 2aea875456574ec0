import { expect, test } from 'vitest'
import { canonicalJson as canonical } from '../../src/domain/idempotency.js'
import { callKey } from '../../src/prove/same-call.js'

const call = { endpoint: 'vouchers.issue', path: '/api/v1/open-platform/vouchers/issue', body: { a: 1, b: 2 } }

test('values with other orders of members have the same canonical text', () => {
  expect(canonical({ b: [{ d: 1, c: 2 }], a: null })).toBe(canonical({ a: null, b: [{ c: 2, d: 1 }] }))
})

test.each([
  ['a number and its text', 1, '1'],
  ['lists in other orders', [1, 2], [2, 1]],
  ['a missing member and null', {}, { a: null }],
  ['no value and null', undefined, null],
])('%s have different canonical texts', (_about, one, other) => {
  expect(canonical(one)).not.toBe(canonical(other))
})

test('a repeat with members in another order is the same call', () => {
  expect(callKey({ ...call, body: { b: 2, a: 1 } })).toBe(callKey(call))
})

test.each([
  ['another endpoint', { endpoint: 'bots.issue' }],
  ['another path', { path: '/api/v1/open-platform/vouchers/redemptions/red_1/reverse' }],
  ['another body', { body: { a: 1, b: 3 } }],
  ['no body', { body: undefined }],
])('a call with %s is another call', (_about, change) => {
  expect(callKey({ ...call, ...change })).not.toBe(callKey(call))
})
