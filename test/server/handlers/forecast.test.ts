import { beforeAll, expect, it } from 'vitest'
import type { Scope } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { ExpirySweeper } from '../../../src/server/background/expiry-sweeper.js'
import { forecast } from '../../../src/store/forecast.js'
import { all } from '../../../src/store/operation.js'
import { DAY_MS, START_MS, sharedApp, testApp } from '../../support/server/app.js'
import { DeliveryScene, until } from '../../support/server/deliveries.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { statementsOf, stepsOf } from '../../support/store/store-steps.js'

const { platform, tokens, vouchers } = contract

const server = sharedApp()
let tenant: Tenant
beforeAll(async () => {
  tenant = await newTenant(server)
})

const nothing = { deliveries_due: 0, vouchers_expiring: 0, vouchers_becoming_valid: 0, tokens_expiring: 0 }
const at = (ms: number) => new Date(ms).toISOString()

it('forecast counts the events that follow when the clock is advanced by its period', async () => {
  const scene = await DeliveryScene.open()
  const { tenant: owner, server: own } = scene
  const receiver = await scene.receiver()
  receiver.respond = () => 503
  // With one connection, two deliveries still wait when rows of their age are deleted.
  await scene.set(receiver, { max_connections: 1 })
  for (const updateId of [await scene.ping(), await scene.ping(), await scene.ping()]) {
    await scene.untilStatus(updateId, 'failed')
  }
  const month = await owner.template()
  const later = await owner.template({ validity: { type: 'relative', duration_days: 60, delay_days: 7 } })
  const issued = [await owner.issue(month.id), await owner.issue(month.id), await owner.issue(later.id)]
  await owner.redeem(await owner.issue(month.id))
  const scopes: Scope[] = ['vouchers:read']
  const revoked = await owner.newToken()
  await owner.console(tokens.revoke, { appId: owner.appId, tokenId: revoked.id })
  await owner.console(tokens.create, { appId: owner.appId, name: 'short', scopes, expires_in_days: 30 })
  const observe = async () => {
    const verified = await Promise.all(issued.map((it) => owner.runtime(vouchers.verify, { credential: codeOf(it) })))
    const reasons = verified.map((it) => it.data.reason)
    const listed = await owner.console(tokens.list, { appId: owner.appId })
    return {
      expired: reasons.filter((it) => it === 'expired').length,
      early: reasons.filter((it) => it === 'not_yet_valid').length,
      tokens: listed.data.items.filter((it) => it.status === 'expired').length,
    }
  }
  const before = await observe()
  const foretold = await owner.operator(platform.forecast, { seconds: (31 * DAY_MS) / 1000 })
  expect(foretold.data).toEqual({
    now: at(START_MS),
    until: at(START_MS + 31 * DAY_MS),
    deliveries_due: 3,
    vouchers_expiring: 2,
    vouchers_becoming_valid: 1,
    tokens_expiring: 1,
    complete: true,
  })
  const swept: Promise<void>[] = []
  const sweeper = new ExpirySweeper(own.deps.store, (error) => scene.workerErrors.push(error))
  own.clock.onMove(() => swept.push(sweeper.start(own.clock.now())))
  receiver.respond = () => 200
  await owner.operator(platform.advanceClock, { seconds: (31 * DAY_MS) / 1000 })
  await until(async () => (await scene.deliveries({ status: 'delivered' })).length === 3)
  await Promise.all(swept)
  const after = await observe()
  expect({
    deliveries_due: new Set(receiver.calls.slice(3).map((it) => it.updateId)).size,
    vouchers_expiring: after.expired - before.expired,
    vouchers_becoming_valid: before.early - after.early,
    tokens_expiring: after.tokens - before.tokens,
  }).toEqual({ deliveries_due: 3, vouchers_expiring: 2, vouchers_becoming_valid: 1, tokens_expiring: 1 })
  expect((await owner.operator(platform.forecast, { seconds: 60 })).data).toMatchObject(nothing)
})

it('forecast includes events at its last millisecond, and none later', async () => {
  const { validUntil } = await tenant.issue()
  const until = async (time: string) => (await tenant.operator(platform.forecast, { until: time })).data
  expect(await until(at(Date.parse(validUntil) - 1))).toMatchObject(nothing)
  expect(await until(validUntil)).toMatchObject({ ...nothing, vouchers_expiring: 1, until: validUntil })
})

it('forecast leaves out the deliveries of a disabled bot', async () => {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  receiver.respond = () => 503
  await scene.set(receiver)
  await scene.untilStatus(await scene.ping(), 'failed')
  const due = async () => (await scene.tenant.operator(platform.forecast, { seconds: 60 })).data.deliveries_due
  expect(await due()).toBe(1)
  await scene.tenant.operator(platform.disableBot, { botId: scene.bot.id })
  expect(await due()).toBe(0)
})

it('forecast beyond its maximum counts the newest vouchers and is not complete', { tags: 'lists/5' }, async () => {
  const own = testApp()
  const owner = await newTenant(own)
  await owner.issue()
  own.clock.advance(DAY_MS)
  await owner.issue()
  const count = (maximum: number) =>
    own.deps.store.read(() => forecast(own.clock.now(), START_MS + 31 * DAY_MS, maximum))
  expect(await count(2)).toEqual({ ...nothing, vouchers_expiring: 2, complete: true })
  expect(await count(1)).toEqual({ ...nothing, vouchers_expiring: 2, complete: false })
  expect(await count(0)).toEqual({ ...nothing, vouchers_expiring: 1, complete: false })
  await own.close()
})

it.each([
  [{ until: at(START_MS + 1), seconds: 1 }, '/until'],
  [{ until: at(START_MS - 1) }, '/until'],
  [{ until: '2027-04-31T00:00:00Z' }, '/until'],
  [{ until: '9995-01-01T00:00:00Z' }, '/until'],
  [{ seconds: -1 }, '/seconds'],
])('forecast with %j is refused', async (input, pointer) => {
  const response = await tenant.operator(platform.forecast, input)
  expect([response.status, response.details.errors]).toMatchObject([400, [{ pointer }]])
})

it.skipIf(onPostgres)('forecast finds deliveries and the newest vouchers by index', async () => {
  const statements = (await stepsOf(server.deps.store, () => forecast(0, 1))).flatMap(statementsOf)
  const plans = await Promise.all(
    statements.map(({ sql, params }) =>
      server.deps.store.read(() => all<{ detail: string }>(`explain query plan ${sql}`, params)),
    ),
  )
  const steps = plans.flat().map((it) => it.detail)
  expect(steps).toContain('SEARCH deliveries USING INDEX deliveries_due (next_attempt_at>? AND next_attempt_at<?)')
  expect(steps).toContain('SCAN vouchers USING INDEX vouchers_by_age')
  expect(steps.filter((it) => it.includes('TEMP B-TREE'))).toEqual([])
})
