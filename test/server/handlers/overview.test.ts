import { expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { hourBefore } from '../../../src/server/observe/failure-counts.js'
import { sharedApp } from '../../support/server/app.js'
import { DeliveryScene } from '../../support/server/deliveries.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

const { platform, vouchers } = contract
const HOUR_MS = 3_600_000

const server = sharedApp()
const instant = (ms: number) => new Date(ms).toISOString()

it('overview counts failed calls by code, without those that watch the server', { tags: 'activity/4' }, async () => {
  const tenant = await newTenant(server)
  const read = async () => (await tenant.operator(platform.overview, {})).data
  const countOf = async (code: string) => (await read()).failed_calls.items.find((it) => it.code === code)?.count ?? 0
  const [before, missing] = [await countOf('VOUCHER_ALREADY_REDEEMED'), await countOf('TEMPLATE_NOT_FOUND')]
  const voucher = await tenant.issue()
  await tenant.redeem(voucher)
  for (const key of ['a', 'b']) await tenant.runtime(vouchers.redeem, { credential: codeOf(voucher) }, { key })
  await tenant.operator(platform.template, { templateId: 'tpl_none' })
  expect(await countOf('VOUCHER_ALREADY_REDEEMED')).toBe(before + 2)
  expect(await countOf('TEMPLATE_NOT_FOUND')).toBe(missing)
})

it('overview has failed attempts, failing deliveries, faults, reviews, the clock', { tags: 'activity/4' }, async () => {
  const scene = await DeliveryScene.open()
  const { server: own, tenant } = scene
  const read = async () => (await tenant.operator(platform.overview, {})).data
  const begin = hourBefore(own.clock.now())
  const { failed_calls, failed_attempts, ...nothing } = await read()
  expect(nothing).toEqual({
    failing_deliveries: 0,
    dead_letters: 0,
    faults: 0,
    clock_ahead_ms: 0,
    reviews: 0,
    borrowed_webhooks: [],
  })
  expect(Date.parse(failed_calls.since)).toBeGreaterThan(begin)
  expect(failed_attempts).toEqual({ since: instant(begin), items: [], complete: true })

  const receiver = await scene.receiver()
  receiver.respond = () => 503
  await scene.set(receiver)
  await scene.untilStatus(await scene.ping(), 'failed')
  await tenant.operator(platform.addFault, { endpoint: 'apps.list', kind: 'error' })
  await tenant.reviewing()
  expect(await read()).toMatchObject({
    failed_attempts: { items: [{ code: 'http_status', status: 503, count: 1 }] },
    failing_deliveries: 1,
    faults: 1,
    reviews: 1,
  })
  own.clock.advance(2 * HOUR_MS)
  const later = await read()
  expect(later).toMatchObject({ clock_ahead_ms: 2 * HOUR_MS, failed_attempts: { items: [] } })
  expect(later.failed_calls.since).toBe(later.failed_attempts.since)
})
