import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../../support/cli.js'

const data = {
  until: '2026-11-21T12:00:00.000Z',
  items: [
    { from: '2026-11-21T10:00:00.000Z', issued: 12, redeemed: 3 },
    { from: '2026-11-21T11:00:00.000Z', issued: 0, redeemed: 1 },
  ],
  complete: true,
}

test.each([
  ['', ''],
  ['--since 7d --buckets 7', '?seconds=604800&buckets=7'],
  ['--since 2026-11-21 --until 2026-11-22', '?from=2026-11-21T00%3A00%3A00Z&until=2026-11-22T00%3A00%3A00Z'],
])('platform totals %s sends the period and the number of buckets', async (flags, query) => {
  const { baseUrl, received } = await stub(() => success(data))
  const ran = await cli(`platform totals ${flags} --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, received[0]?.path]).toEqual([0, `/_platform/v1/totals${query}`])
})

test('platform totals draws issued and redeemed vouchers as bars of one scale', async () => {
  const { baseUrl } = await stub(() => success(data))
  const { stdout } = await cli(`platform totals --base-url ${baseUrl}`, { env: secrets })
  expect(stdout.split('\n')).toEqual([
    '12 issued and 4 redeemed until 2026-11-21 12:00:00Z.',
    '',
    'FROM                    ISSUED                    REDEEMED',
    '2026-11-21 10:00:00Z        12  ██████████████████       3  █████',
    '2026-11-21 11:00:00Z         0                           1  ██',
    '',
  ])
})
