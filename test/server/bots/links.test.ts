import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import type { Store } from '../../../src/store/store.js'
import { sharedApp, testApp } from '../../support/server/app.js'
import { callerOf } from '../../support/server/client.js'
import { newTenant } from '../../support/server/tenant.js'

const server = sharedApp()

const iso = (ms: number) => new Date(ms).toISOString()
const { apps, bots, platform } = contract

describe('link of a bot to an application', () => {
  it('link of a bot is shown in every response that contains the application or the bot', async () => {
    const own = testApp()
    const tenant = await newTenant(own)
    const { appId, console } = tenant
    const { id: botId, username } = await tenant.approvedBot()
    const { data: before } = await console(apps.get, { appId })
    own.clock.advance(5)
    const at = iso(own.clock.now())
    const linked = await console(apps.linkBot, { appId, botId })
    const linkedBots = [{ botId, username, linkedAt: at }]
    expect([linked.status, linked.data]).toEqual([200, { ...before, linkedBots, updatedAt: at }])
    expect((await console(bots.get, { botId })).data).toMatchObject({ application_id: appId, updated_at: at })
    const { data: other } = await console(apps.create, { name: 'Another shop' })
    const listed = (await console(apps.list, {})).data.items
    expect(new Map(listed.map((it) => [it.id, it.linkedBots]))).toEqual(
      new Map([
        [appId, linkedBots],
        [other.id, []],
      ]),
    )
    for (const response of [
      await console(apps.get, { appId }),
      await console(apps.update, { appId, name: 'Shop 2' }),
      await tenant.operator(platform.suspendApp, { appId }),
      await tenant.operator(platform.reinstateApp, { appId }),
      await tenant.operator(platform.setAppFeatures, { appId, features: ['vouchers'] }),
    ]) {
      expect(response.data.linkedBots).toEqual(linkedBots)
    }
    await own.close()
  })

  it('one of two concurrent links of a bot to two applications succeeds', { tags: 'applications/4' }, async () => {
    const tenant = await newTenant(server)
    const sibling = await newTenant(server, tenant.accountId)
    const { id: botId } = await tenant.approvedBot()
    const responses = await Promise.all(
      [tenant, sibling].map(({ console, appId }) => console(apps.linkBot, { appId, botId })),
    )
    const codes = responses.map((it) => it.code)
    // Either link may succeed, because the check of an account's JWT is asynchronous.
    expect(codes.filter((it) => it !== null)).toEqual(['BOT_ALREADY_LINKED'])
  })

  it('list of applications runs as many SQL statements for fifty applications as for one', async () => {
    const tenant = await newTenant(server)
    const { store } = server.deps
    let statements = 0
    const counting: Store = {
      ...store,
      read: (op) =>
        store.read(function* () {
          const steps = op()
          let step = steps.next()
          while (!step.done) {
            statements += 1
            step = steps.next((yield step.value) as never)
          }
          return step.value
        }),
    }
    const counted = testApp({ store: counting })
    const console = callerOf(counted.send, tenant.jwt)
    const cost = async () => {
      statements = 0
      expect((await console(apps.list, { limit: 100 })).status).toBe(200)
      return statements
    }
    const ofOne = await cost()
    for (let have = 1; have < 50; have++) await tenant.console(apps.create, { name: `Shop ${have}` })
    await tenant.linkedBot()
    expect(await cost()).toBe(ofOne)
    await counted.close()
  })
})
