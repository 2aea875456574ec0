import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../../support/cli.js'
import { fault, forecast } from '../../../support/cli-samples.js'

const nothing = {
  deliveries_due: 0,
  vouchers_expiring: 0,
  vouchers_becoming_valid: 0,
  tokens_expiring: 0,
}
const until = 'Until 2026-12-22 10:00:00Z: '

test.each([
  [forecast, '3 deliveries fall due, 12 vouchers expire, 1 application token expires.'],
  [
    { ...forecast, ...nothing, deliveries_due: 1, vouchers_becoming_valid: 1 },
    '1 delivery falls due, 1 voucher becomes valid.',
  ],
  [{ ...forecast, ...nothing }, 'nothing falls due or expires.'],
  [
    { ...forecast, ...nothing, vouchers_expiring: 2, complete: false },
    'at least 2 vouchers expire. There are too many records to count all.',
  ],
])('platform clock forecast says in a sentence what happens: %#', async (data, sentence) => {
  const { baseUrl, received } = await stub(() => success(data))
  const ran = await cli(`platform clock forecast --in 31d --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, ran.stdout]).toEqual([0, `${until}${sentence}\n`])
  expect(received.map((it) => it.path)).toEqual(['/_platform/v1/clock/forecast?seconds=2678400'])
})

test.each([
  ['--until 2027-01-31', 0, '/_platform/v1/clock/forecast?until=2027-01-31T00%3A00%3A00Z'],
  ['--until 2027-01-31 --in 31d', 2, undefined],
  ['--in 500ms', 2, undefined],
])('platform clock forecast %s exits with %i', async (flags, exit, path) => {
  const { baseUrl, received } = await stub(() => success(forecast))
  const ran = await cli(`platform clock forecast ${flags} --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, received[0]?.path]).toEqual([exit, path])
})

test.each([
  ['', { times: 1 }, { times: 1, rate: null }, 'The next call of vouchers.redeem: error.'],
  ['--rate 0.05', { rate: 0.05 }, { times: null, rate: 0.05 }, '5 % of the calls of vouchers.redeem: error.'],
  [
    '--rate .5 --times 2',
    { rate: 0.5, times: 2 },
    { times: 2, rate: 0.5 },
    '50 % of the calls of vouchers.redeem: error, at most 2 times.',
  ],
])(
  'platform faults add %s sends times and rate, and says which calls are affected',
  async (flags, sent, data, text) => {
    const { baseUrl, received } = await stub(() => success({ ...fault, ...data }))
    const add = `platform faults add --endpoint vouchers.redeem --kind error ${flags}`
    const ran = await cli(`${add} --base-url ${baseUrl}`, { env: secrets })
    expect(ran.stdout).toContain(text)
    expect(received[0]?.body).toEqual({ endpoint: 'vouchers.redeem', kind: 'error', ...sent })
  },
)

test.each(['0', '1.01', '5%', 'x'])('platform faults add --rate %s is refused with exit code 2', async (rate) => {
  const ran = await cli(`platform faults add --endpoint vouchers.redeem --kind error --rate ${rate}`, { env: secrets })
  expect([ran.exit, ran.stderr]).toMatchObject([2, expect.stringContaining('--rate must be a number above 0')])
})
