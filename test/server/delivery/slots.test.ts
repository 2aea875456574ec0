import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { all } from '../../../src/store/operation.js'
import { DeliveryScene, until } from '../../support/server/deliveries.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'

const SLOTS = 8

/** Webhook receivers that respond only when the test releases them. */
function hangingReceivers(scene: DeliveryScene) {
  const held: { account: string; release: () => void }[] = []
  return {
    held,
    heldBy: (tenant: Tenant) => held.filter((it) => it.account === tenant.accountId).length,
    /** Creates bots of one account with pending updates and one receiver for all of them. */
    async bots(tenant: Tenant, bots: number, updates: number) {
      const receiver = await scene.receiver()
      receiver.respond = () =>
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

describe('delivery slots', () => {
  it('account uses at most a quarter of the slots while others deliver', { tags: 'delivery-slots/1' }, async () => {
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

    // Each freed slot goes to the next bot of the account.
    await until(() => {
      for (const { release } of hanging.held.splice(0)) release()
      return receiver.calls.length === 12
    })
    expect(receiver.held.most).toBe(SLOTS / 4)
  })

  it('slow receivers of several accounts leave a delivery slot for a new account', async () => {
    const scene = await DeliveryScene.open({ started: false })
    const hanging = hangingReceivers(scene)
    const slow = [await newTenant(scene.server), await newTenant(scene.server), await newTenant(scene.server)]
    for (const tenant of slow) await hanging.bots(tenant, 2, 4)
    await scene.startWorker({ slots: SLOTS })
    await until(() => slow.every((tenant) => hanging.heldBy(tenant) > 0) && hanging.held.length === 4)
    const quick = await scene.receiver()
    await scene.set(quick)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(slow.map(hanging.heldBy)).toEqual([2, 1, 1])
  })

  it('concurrent attempts of any accounts never exceed the slots', { tags: 'delivery-slots/1' }, async () => {
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
      // The transaction that records this attempt also claims the next one.
      await until(async () => (await count("status = 'delivered'")) === released + 1)
      expect(await count('lease_until is not null')).toBe(Math.min(4, 5 - released))
    }
  })
})
