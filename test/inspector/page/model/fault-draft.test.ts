import { expect, test } from 'vitest'
import { faultOf, hasField, kindOf, kindsFor, previewOf } from '../../../../src/inspector/page/model/fault-draft.js'

const fields = { endpoint: 'apps.list', kind: 'error', times: '3' }

test.each<[string, Readonly<Record<string, string>>, object, string]>([
  [
    'next calls',
    {},
    { endpoint: 'apps.list', kind: 'error', times: 3 },
    'The next 3 calls of apps.list will fail with 503.',
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
    'The calls of apps.list from number 2 on fail with 503, at most 1 time.',
  ],
  [
    'a delay without a time',
    { kind: 'delay' },
    { endpoint: 'apps.list', kind: 'delay', times: 3, delay_ms: 1000 },
    'The next 3 calls of apps.list will be delayed by 1000 ms.',
  ],
  [
    'a status without a number',
    { kind: 'status' },
    { endpoint: 'apps.list', kind: 'status', times: 3, status: 429, retry_after: 1 },
    'The next 3 calls of apps.list will fail with 429.',
  ],
  [
    'another kind, for which a typed status does not count',
    { status: '409', retry_after: '2', code: 'USERNAME_TAKEN' },
    { endpoint: 'apps.list', kind: 'error', times: 3 },
    'The next 3 calls of apps.list will fail with 503.',
  ],
  [
    'a status with a code',
    { kind: 'status', status: '409', code: ' USERNAME_TAKEN ', retry_after: '2' },
    { endpoint: 'apps.list', kind: 'status', times: 3, status: 409, code: 'USERNAME_TAKEN', retry_after: 2 },
    'The next 3 calls of apps.list will fail with 409.',
  ],
  [
    'calls that match',
    { path: ' /api/* ', body: '{"a":1}' },
    { endpoint: 'apps.list', kind: 'error', times: 3, match: { path: '/api/*', body: { a: 1 } } },
    'The next 3 matching calls of apps.list will fail with 503.',
  ],
  [
    'a hold with its place and time',
    { kind: 'hold', times: '1', at: 'before', hold_ms: '5000' },
    { endpoint: 'apps.list', kind: 'hold', times: 1, at: 'before', hold_ms: 5000 },
    'The next call of apps.list will be held before the work.',
  ],
  [
    'a silence with its time, for which a place does not count',
    { kind: 'silence', at: 'before', hold_ms: '5000' },
    { endpoint: 'apps.list', kind: 'silence', times: 3, hold_ms: 5000 },
    'The next 3 calls of apps.list will get no response.',
  ],
  [
    'deliveries that match, for which members of calls do not count',
    {
      endpoint: 'deliveries',
      kind: 'forged',
      bot: 'bot_shop',
      type: 'ping',
      path: '/api/*',
      delay_ms: '5',
      at: 'before',
    },
    { endpoint: 'deliveries', kind: 'forged', times: 3, match: { bot: 'bot_shop', type: 'ping' } },
    'The next 3 matching deliveries will have a wrong signature.',
  ],
  [
    'a kind of calls as the first kind of deliveries',
    { endpoint: 'deliveries', kind: 'hold', times: '1', at: 'before' },
    { endpoint: 'deliveries', kind: 'duplicate', times: 1 },
    'The next delivery will arrive twice.',
  ],
])('form of faults reads %s', (_, typed, expected, sentence) => {
  const fault = faultOf({ ...fields, ...typed })
  expect(fault).toEqual(expected)
  expect('field' in fault ? fault.reason : previewOf(fault)).toBe(sentence)
})

test.each(['{', '[]', 'null', '7'])('form of faults refuses a body to match that is no object: %s', (body) => {
  expect(faultOf({ ...fields, body })).toMatchObject({ field: 'body', reason: expect.stringContaining('JSON object') })
})

test('form of faults offers the kinds and fields of the chosen target only', () => {
  const [calls, deliveries] = [{ endpoint: 'apps.list' }, { endpoint: 'deliveries', kind: 'stale' }]
  expect(kindsFor(calls)).toContain('hold')
  expect(kindsFor(deliveries)).toEqual(['duplicate', 'late', 'lost', 'forged', 'stale'])
  expect([kindOf(calls), kindOf(deliveries)]).toEqual(['drop_response', 'stale'])
  const fields = ['times', 'path', 'bot', 'at', 'hold_ms', 'status']
  expect(fields.filter((it) => hasField('hold', it))).toEqual(['times', 'path', 'at', 'hold_ms'])
  expect(fields.filter((it) => hasField('hang', it))).toEqual(['times', 'path', 'hold_ms'])
  expect(fields.filter((it) => hasField('stale', it))).toEqual(['times', 'bot'])
})

test.each(['0', '-5', '101', '1e3', 'half'])('share of %s is refused in its field', (share) => {
  expect(faultOf({ ...fields, share })).toEqual({
    field: 'share',
    reason: 'A share is a percentage above 0, at most 100, such as 5.',
  })
})

test('share of 100 percent is a whole', () => {
  expect(faultOf({ ...fields, share: '100' })).toMatchObject({ share: 1 })
  expect(faultOf({ ...fields, share: '0.5' })).toMatchObject({ share: 0.005 })
})
