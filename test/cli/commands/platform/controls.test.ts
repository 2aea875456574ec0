import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../../support/cli/cli.js'

const added = { id: 'flt_01', endpoint: 'vouchers.redeem', kind: 'error', times: null, left: null, delay_ms: null }

test.each([
  [{ share: 0.05 }, '5 % of the calls of vouchers.redeem fail with 503.'],
  [{ share: 0.5, times: 2, left: 2 }, '50 % of the calls of vouchers.redeem fail with 503, at most 2 times.'],
  [{ share: null, times: 1, left: 1 }, 'The next call of vouchers.redeem will fail with 503.'],
  [
    { share: null, times: 1, left: 1, kind: 'drop_response' },
    'The next call of vouchers.redeem will lose its response.',
  ],
  [{ share: null, times: 2, left: 2, kind: 'delay' }, 'The next 2 calls of vouchers.redeem will be delayed.'],
  [
    { share: null, left: 1, kind: 'hold', at: 'committed' },
    'The next call of vouchers.redeem will be held after the commit.',
  ],
  [{ share: null, left: 1, endpoint: 'deliveries', kind: 'duplicate' }, 'The next delivery will arrive twice.'],
  [
    { share: null, left: 3, endpoint: 'deliveries', kind: 'forged', match: { type: 'ping' } },
    'The next 3 matching deliveries will have a wrong signature.',
  ],
  [
    { share: null, nth: 3, match: { path: '/a' } },
    'The matching calls of vouchers.redeem from number 3 on fail with 503.',
  ],
])('platform faults add says which calls a fault %j affects', async (members, sentence) => {
  const { baseUrl } = await stub(() => success({ ...added, ...members }))
  const line = `platform faults add --endpoint vouchers.redeem --kind error --share 1 --base-url ${baseUrl}`
  const ran = await cli(line, { env: secrets })
  expect(ran.exit).toBe(0)
  expect(ran.stdout).toContain(sentence)
})

test('platform faults list names the held calls, even without a fault', async () => {
  const call = { fault_id: 'flt_01', at: 'before', since: '2027-03-01T12:00:00.000Z', hold_ms: 60_000 }
  const held = ['vouchers.redeem', 'vouchers.issue'].map((endpoint, n) => ({
    ...call,
    endpoint,
    request_id: `req_${n}`,
  }))
  const { baseUrl } = await stub(() => success({ items: [], held }))
  const ran = await cli(`platform faults list --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, ran.stdout]).toEqual([
    0,
    'vouchers.redeem req_0 is held before the work since 2027-03-01 12:00:00Z. vouchers.issue req_1 is held before the work since 2027-03-01 12:00:00Z.\n\nThere are no faults.\n',
  ])
})
