import { beforeAll, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { START_MS, sharedApp } from '../../support/server/app.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'

const { platform, vouchers } = contract

const server = sharedApp()
let tenant: Tenant
beforeAll(async () => {
  tenant = await newTenant(server)
})

const HOUR_MS = 3_600_000
const at = (ms: number) => new Date(ms).toISOString()

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

it('totals of a template count its vouchers and redemptions alone', async () => {
  const [one, two] = [await tenant.issue(), await tenant.issue()]
  await tenant.issue(two.templateId)
  await tenant.redeem(two)
  const until = at(server.clock.now() + 1)
  const count = async (template_id: string) => {
    const { data } = await tenant.operator(platform.totals, { seconds: 60, until, buckets: 1, template_id })
    return [data.items[0]?.issued, data.items[0]?.redeemed, data.complete]
  }
  expect(await count(one.templateId)).toEqual([1, 0, true])
  expect(await count(two.templateId)).toEqual([2, 1, true])
  expect(await count('tpl_unknown')).toEqual([0, 0, true])
  server.clock.advance(HOUR_MS)
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

it.each([
  [{ from: at(START_MS), until: at(START_MS) }, '/from'],
  [{ from: '2027-02-30T00:00:00Z' }, '/from'],
  [{ until: '2027-02-30T00:00:00Z' }, '/until'],
  [{ from: at(START_MS), seconds: 60 }, '/from'],
  [{ buckets: 0 }, '/buckets'],
  [{ buckets: 367 }, '/buckets'],
])('totals with %j are refused', async (input, pointer) => {
  const response = await tenant.operator(platform.totals, input)
  expect([response.status, response.details.errors]).toMatchObject([400, [{ pointer }]])
})
