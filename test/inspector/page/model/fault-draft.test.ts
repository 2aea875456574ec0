import { expect, test } from 'vitest'
import { faultOf, previewOf } from '../../../../src/inspector/page/model/fault-draft.js'

const fields = { endpoint: 'apps.list', kind: 'error', times: '3' }

test.each<[string, Readonly<Record<string, string>>, object, string]>([
  [
    'next calls',
    {},
    { endpoint: 'apps.list', kind: 'error', times: 3 },
    'Calls of apps.list fail with 503, 3 calls only.',
  ],
  [
    'a share without an end',
    { share: '5', times: '', seed: '7' },
    { endpoint: 'apps.list', kind: 'error', share: 0.05, seed: 7 },
    '5 % of the calls of apps.list fail with 503.',
  ],
  [
    'calls from a number',
    { nth: '2', times: ' ' },
    { endpoint: 'apps.list', kind: 'error', nth: 2 },
    'Calls of apps.list from number 2 on fail with 503, 1 call only.',
  ],
  [
    'a delay without a time',
    { kind: 'delay' },
    { endpoint: 'apps.list', kind: 'delay', times: 3, delay_ms: 1000 },
    'Calls of apps.list are delayed by 1,000 ms, 3 calls only.',
  ],
  [
    'a status without a number',
    { kind: 'status' },
    { endpoint: 'apps.list', kind: 'status', times: 3, status: 429, retry_after: 1 },
    'Calls of apps.list fail with 429, 3 calls only.',
  ],
  [
    'another kind, for which a typed status does not count',
    { status: '409', retry_after: '2', code: 'USERNAME_TAKEN' },
    { endpoint: 'apps.list', kind: 'error', times: 3 },
    'Calls of apps.list fail with 503, 3 calls only.',
  ],
  [
    'a status with a code',
    { kind: 'status', status: '409', code: ' USERNAME_TAKEN ', retry_after: '2' },
    { endpoint: 'apps.list', kind: 'status', times: 3, status: 409, code: 'USERNAME_TAKEN', retry_after: 2 },
    'Calls of apps.list fail with 409, 3 calls only.',
  ],
  [
    'calls that match',
    { path: ' /api/* ', body: '{"a":1}' },
    { endpoint: 'apps.list', kind: 'error', times: 3, match: { path: '/api/*', body: { a: 1 } } },
    'Matching calls of apps.list fail with 503, 3 calls only.',
  ],
])('form of faults reads %s', (_, typed, expected, sentence) => {
  const fault = faultOf({ ...fields, ...typed })
  expect(fault).toEqual(expected)
  expect(typeof fault === 'string' ? fault : previewOf(fault)).toBe(sentence)
})

test.each(['{', '[]', 'null', '7'])('form of faults refuses a body to match that is no object: %s', (body) => {
  expect(faultOf({ ...fields, body })).toContain('JSON object')
})
