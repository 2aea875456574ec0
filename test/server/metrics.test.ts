import { expect, it } from 'vitest'
import { failures } from '../../src/contract/errors.js'
import { contract } from '../../src/contract/index.js'
import { wireSession } from '../support/secure/wire.js'
import { type TestApp, testApp } from '../support/server/app.js'
import { DeliveryScene } from '../support/server/deliveries.js'
import { parseExposition, valueOf } from '../support/server/exposition.js'
import { codeOf, newTenant } from '../support/server/tenant.js'
import { storeName } from '../support/store/engine-name.js'

async function scrape(server: Pick<TestApp, 'send'>) {
  const { text } = await server.send({ method: 'GET', path: '/metrics' })
  return { text, families: parseExposition(text) }
}

const endpoints = Object.values(contract).flatMap((group) => Object.values(group).map(({ id }) => id))

it('metrics count redemptions without replays, and refusals by their code', { tags: 'health-routes/3' }, async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const voucher = await tenant.issue()
  const redeem = (key: string) => tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key })
  for (const key of ['K', 'K', 'other', 'another']) await redeem(key)
  await server.send({ method: 'POST', path: contract.vouchers.redeem.path })
  const { families } = await scrape(server)
  const refusals = (code: string) => valueOf(families, 'voucherctl_redemption_refusals_total', { code })
  expect(valueOf(families, 'voucherctl_redemptions_total')).toBe(1)
  expect([refusals('VOUCHER_ALREADY_REDEEMED'), refusals('TOKEN_MISSING')]).toEqual([2, 1])
  const requests = { endpoint: 'vouchers.redeem', status: '200' }
  expect(valueOf(families, 'voucherctl_http_requests_total', requests)).toBe(2)
  expect(valueOf(families, 'voucherctl_http_request_duration_seconds_count', { endpoint: 'vouchers.redeem' })).toBe(5)
  await server.close()
})

it('metrics have at most 40 families, and labels from the contract only', { tags: 'health-routes/3' }, async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  await tenant.redeem(await tenant.issue())
  await tenant.console(contract.webhook.deliveries, { botId: bot.id })
  await server.send({ method: 'GET', path: '/no-such-path' })
  await server.send({ method: 'DELETE', path: '/api/v1/bots' })
  const { text, families } = await scrape(server)
  expect(families.length).toBeLessThanOrEqual(40)
  expect(text).not.toMatch(/no-such-path|\/api\/v1|(?:app|tok|tpl|vch|rdm|bot|dlv|chat|req)_[0-9A-HJKMNP-TV-Z]{26}/)
  const samples = families.flatMap((it) => it.samples)
  const valuesOf = (label: string) => [...new Set(samples.flatMap(({ labels: { [label]: it } }) => it ?? []))]
  const known = [...endpoints, 'none', 'health.live', 'health.ready', 'health.metrics']
  expect(valuesOf('endpoint')).toEqual(expect.arrayContaining(['none', 'vouchers.redeem', 'webhook.deliveries']))
  expect(valuesOf('endpoint').filter((it) => !known.includes(it))).toEqual([])
  expect(valuesOf('code').filter((it) => it !== '' && !Object.hasOwn(failures, it))).toEqual([])
  expect(valuesOf('store')).toEqual([storeName])
  await server.close()
})

it('metrics have the versions of program and schema, and encrypted sessions', { tags: 'health-routes/3' }, async () => {
  const server = testApp()
  await wireSession(server.send)
  await wireSession(server.send)
  const { families } = await scrape(server)
  const [build] = families.find(({ name }) => name === 'voucherctl_build_info')?.samples ?? []
  expect(build).toMatchObject({
    value: 1,
    labels: { version: expect.stringMatching(/^\d+\.\d+\.\d+/), schema_version: expect.stringMatching(/^\d+$/) },
  })
  expect(valueOf(families, 'voucherctl_secure_sessions')).toBe(2)
  await server.close()
})

it('metrics count attempts by result, and deliveries that wait or are dead', { tags: 'health-routes/3' }, async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver)
  const delivered = await scene.ping()
  await scene.untilStatus(delivered, 'delivered')
  receiver.respond = () => 500
  const failed = await scene.ping()
  await scene.untilStatus(failed, 'failed')
  await scene.stopWorker(0)
  await scene.ping()
  scene.server.clock.advance(90_000)
  const { families } = await scrape(scene.server)
  const attempts = (result: string) => valueOf(families, 'voucherctl_delivery_attempts_total', { result })
  expect([attempts('delivered'), attempts('failed'), attempts('dead_letter')]).toEqual([1, 1, 0])
  const deliveries = (status: string) => valueOf(families, 'voucherctl_deliveries', { status })
  expect([deliveries('pending'), deliveries('failed'), deliveries('dead_letter')]).toEqual([1, 1, 0])
  expect(valueOf(families, 'voucherctl_delivery_backlog_age_seconds')).toBe(90)
})

it('metrics count the attempt that makes a delivery a dead letter', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  receiver.respond = () => 500
  await scene.set(receiver)
  const updateId = await scene.ping()
  let delivery = await scene.untilStatus(updateId, 'failed')
  while (delivery.status === 'failed') {
    const { attempt_count: made, next_attempt_at: next } = delivery
    scene.server.clock.advance(Date.parse(next as string) - scene.server.clock.now())
    await expect.poll(async () => (await scene.delivery(updateId)).attempt_count).toBeGreaterThan(made)
    delivery = await scene.delivery(updateId)
  }
  await scene.untilStatus(updateId, 'dead_letter')
  const retried = await scene.retry(delivery.id)
  expect(retried.status).toBeLessThan(300)
  await expect.poll(async () => (await scene.delivery(updateId)).manual_attempt_count).toBe(1)
  await scene.untilStatus(updateId, 'dead_letter')
  const { families } = await scrape(scene.server)
  const attempts = (result: string) => valueOf(families, 'voucherctl_delivery_attempts_total', { result })
  expect([attempts('dead_letter'), attempts('failed')]).toEqual([1, delivery.attempt_count])
  expect(valueOf(families, 'voucherctl_deliveries', { status: 'dead_letter' })).toBe(1)
})

it('metrics of a server whose store is closed say that it is down', { tags: 'health-routes/3' }, async () => {
  const server = testApp()
  await server.deps.store.close()
  const { families } = await scrape(server)
  expect(valueOf(families, 'voucherctl_store_up')).toBe(0)
  expect(valueOf(families, 'voucherctl_deliveries', { status: 'pending' })).toBe(undefined)
  expect(valueOf(families, 'voucherctl_delivery_backlog_age_seconds')).toBe(undefined)
  expect(valueOf(families, 'voucherctl_http_requests_total')).toBe(undefined)
  await server.close()
})
