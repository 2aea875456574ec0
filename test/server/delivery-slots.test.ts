import { describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { DELIVERY_SLOTS, slotsFor } from '../../src/domain/delivery.js'
import { all } from '../../src/store/operation.js'
import { DeliveryScene, until } from '../support/server-deliveries.js'
import { type Tenant, newTenant } from '../support/server-tenant.js'

const SLOTS = 8

/** Receivers that answer nothing until they are let go. */
function hangingReceivers(scene: DeliveryScene) {
  const held: { account: string; release: () => void }[] = []
  return {
    held,
    heldBy: (tenant: Tenant) => held.filter((it) => it.account === tenant.accountId).length,
    /** Bots of one account, each with updates that wait for its receiver. */
    async bots(tenant: Tenant, bots: number, updates: number) {
      const receiver = await scene.receiver()
      receiver.answer = () =>
        new Promise((resolve) => {
          held.push({ account: tenant.accountId, release: () => resolve(200) })
        })
      for (let n = 0; n < bots; n++) {
        const bot = await tenant.bot()
        await tenant.console(contract.webhook.set, { botId: bot.id, url: receiver.url, secret_token: 'a-secret' })
        for (let made = 0; made < updates; made++) await scene.ping(bot)
      }
      return receiver
    },
  }
}

describe('the slots of deliveries', () => {
  it('of one account are a quarter of all, and deliveries of others go out beside them', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const hanging = hangingReceivers(scene)
    const slow = await newTenant(scene.server)
    const receiver = await hanging.bots(slow, 3, 4)
    await scene.startWorker({ slots: SLOTS })
    await until(() => hanging.held.length === SLOTS / 4)

    const quick = await scene.receiver()
    await scene.set(quick)
    for (let n = 0; n < 10; n++) await scene.ping()
    await scene.untilStatus(10, 'delivered')
    expect([quick.calls.length, hanging.held.length]).toEqual([10, SLOTS / 4])

    // Each slot that becomes free goes on to the next of its bots.
    await until(() => {
      for (const { release } of hanging.held.splice(0)) release()
      return receiver.calls.length === 12
    })
    expect(receiver.held.most).toBe(SLOTS / 4)
  })

  it('of several slow accounts leave one for an account that comes', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const hanging = hangingReceivers(scene)
    const slow = [await newTenant(scene.server), await newTenant(scene.server), await newTenant(scene.server)]
    for (const tenant of slow) await hanging.bots(tenant, 2, 4)
    await scene.startWorker({ slots: SLOTS })
    await until(() => slow.every((tenant) => hanging.heldBy(tenant) > 0))
    const quick = await scene.receiver()
    await scene.set(quick)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(slow.map(hanging.heldBy)).toEqual([2, 1, 1])
  })

  it('are all that is in flight, however many accounts wait', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const hanging = hangingReceivers(scene)
    for (let n = 0; n < 6; n++) await hanging.bots(await newTenant(scene.server), 1, 1)
    await scene.startWorker({ slots: 4 })
    const count = async (where: string) => {
      const counted = await scene.server.deps.store.read(() =>
        all<{ n: number }>(`select count(*) as n from deliveries where ${where}`),
      )
      return Number(counted[0]?.n)
    }
    for (let released = 0; released < 6; released++) {
      await until(() => hanging.held.length === Math.min(4, 6 - released))
      hanging.held.shift()?.release()
      // The turn that writes this down claims what goes out next.
      await until(async () => (await count("status = 'delivered'")) === released + 1)
      expect(await count('lease_until is not null')).toBe(Math.min(4, 5 - released))
    }
  })

  it('are 1,000, of which an account alone may take 250 and the next one 187', () => {
    expect(DELIVERY_SLOTS).toBe(1_000)
    expect(slotsFor(DELIVERY_SLOTS, 0)).toBe(250)
    expect(slotsFor(750, 250)).toBe(0)
    expect(slotsFor(750, 0)).toBe(187)
    expect([slotsFor(1, 0), slotsFor(0, 0), slotsFor(1, 1)]).toEqual([1, 0, 0])
  })
})
