import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { newChat, say } from '../../support/server/chats.js'
import { until } from '../../support/server/deliveries.js'
import { liveServer } from '../../support/server/server.js'
import { newTenant } from '../../support/server/tenant.js'

it('updates behind a hanging delivery expire when the clock advances a day', { tags: 'test-clock/2' }, async () => {
  let called = () => {}
  const hanging = new Promise<void>((resolve) => {
    called = resolve
  })
  const receiver = http.createServer(() => called())
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const server = await liveServer()
  onTestFinished(async () => {
    receiver.closeAllConnections()
    receiver.close()
    await server.close()
  })
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  const url = `http://127.0.0.1:${port}/hook`
  expect((await tenant.console(contract.webhook.set, { botId: bot.id, url })).status).toBe(200)
  const chat = await newChat(tenant, bot)
  await hanging
  await say(tenant, chat, 'behind')
  const statuses = async () => {
    const { items } = (await tenant.console(contract.webhook.deliveries, { botId: bot.id })).data
    return items.map((it) => [it.update_id, it.status, it.cancel_reason]).sort()
  }
  expect(await statuses()).toEqual([
    [1, 'delivering', null],
    [2, 'pending', null],
  ])
  await tenant.operator(contract.platform.advanceClock, { seconds: 86_400 })
  await until(async () => (await statuses())[1]?.[1] === 'cancelled')
  expect(await statuses()).toEqual([
    [1, 'delivering', null],
    [2, 'cancelled', 'expired'],
  ])
})
