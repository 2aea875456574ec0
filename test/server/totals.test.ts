import { afterAll, beforeAll, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { newId } from '../../src/domain/ids.js'
import type { RedemptionRow, VoucherRow } from '../../src/domain/rows.js'
import { inserting, type Op } from '../../src/store/operation.js'
import { totals } from '../../src/store/totals.js'
import { redemptionRow, voucherRow } from '../support/rows.js'
import { START_MS, seededRandom, type TestApp, testApp } from '../support/server-app.js'
import { newTenant, type Tenant } from '../support/server-tenant.js'

const { platform, vouchers } = contract

let server: TestApp
let tenant: Tenant
beforeAll(async () => {
  server = testApp()
  tenant = await newTenant(server)
})
afterAll(() => server.close())

const HOUR_MS = 3_600_000
const at = (ms: number) => new Date(ms).toISOString()
const sum = (items: readonly { issued: number; redeemed: number }[]) => ({
  issued: items.reduce((total, it) => total + it.issued, 0),
  redeemed: items.reduce((total, it) => total + it.redeemed, 0),
})

it('totals count vouchers when they are issued, and redemptions even if reversed later', async () => {
  const voucher = await tenant.issue()
  await tenant.issue()
  server.clock.advance(HOUR_MS)
  const { id: redemptionId } = await tenant.redeem(voucher)
  await tenant.runtime(vouchers.reverse, { redemptionId, reason: 'wrong till' })
  await tenant.redeem(voucher)
  const found = await tenant.operator(platform.totals, {
    from: at(START_MS),
    until: at(START_MS + 2 * HOUR_MS),
    buckets: 2,
  })
  expect(found.data).toEqual({
    until: at(START_MS + 2 * HOUR_MS),
    items: [
      { from: at(START_MS), issued: 2, redeemed: 0 },
      { from: at(START_MS + HOUR_MS), issued: 0, redeemed: 2 },
    ],
    complete: true,
  })
})

it('totals cover the last 24 hours in 24 periods by default, or the given seconds', async () => {
  const now = server.clock.now()
  const byDefault = (await tenant.operator(platform.totals, {})).data
  expect([byDefault.items.length, byDefault.items[0]?.from, byDefault.until]).toEqual([
    24,
    at(now - 24 * HOUR_MS),
    at(now),
  ])
  const { items } = (await tenant.operator(platform.totals, { seconds: 60, buckets: 1 })).data
  expect(items).toEqual([{ from: at(now - 60_000), issued: 0, redeemed: 0 }])
})

it('totals put each event into its period if the periods have no whole number of milliseconds', async () => {
  const own = testApp()
  const { appId } = await newTenant(own)
  const random = seededRandom('totals')
  const times = Array.from({ length: 120 }, (_, index) => START_MS - 5 + index)
  await own.deps.store.write(function* (): Op<void> {
    for (const [index, time] of times.entries()) {
      const id = `vch_${index}`
      yield* inserting<VoucherRow>('vouchers')(
        voucherRow({
          ...{ application_id: appId, id, external_issue_id: id, redeem_code_hash: id, qr_token_hash: id },
          issued_at: time,
        }),
      )
      const redemptionId = newId('rdm', time, random)
      yield* inserting<RedemptionRow>('redemptions')(
        redemptionRow({ application_id: appId, id: redemptionId, voucher_id: id, redeemed_at: time }),
      )
    }
  })
  const request = { from: START_MS, until: START_MS + 100, buckets: 7 }
  const { items } = await own.deps.store.read(() => totals(request))
  const ends = [...items.slice(1).map((it) => Date.parse(it.from)), request.until]
  const expected = items.map(({ from }, index) => {
    const count = times.filter((it) => it >= Date.parse(from) && it < (ends[index] as number)).length
    return { from, issued: count, redeemed: count }
  })
  expect(items).toEqual(expected)
  expect(sum(items)).toEqual({ issued: 100, redeemed: 100 })
  const cut = await own.deps.store.read(() => totals({ ...request, buckets: 2 }, 10))
  expect([cut.complete, cut.items[0]?.issued, cut.items[1]?.issued]).toEqual([false, 0, 11])
  await own.close()
})

it.each([
  [{ from: at(START_MS), until: at(START_MS) }, '/from'],
  [{ from: '2027-02-30T00:00:00Z' }, '/from'],
  [{ until: '2027-02-30T00:00:00Z' }, '/until'],
  [{ from: at(START_MS), seconds: 60 }, '/from'],
  [{ buckets: 0 }, '/buckets'],
  [{ buckets: 367 }, '/buckets'],
])('totals with %j are refused', async (input, pointer) => {
  const answer = await tenant.operator(platform.totals, input)
  expect([answer.status, answer.details.errors]).toMatchObject([400, [{ pointer }]])
})
