import { expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { WebhookSender } from '../../../src/server/delivery/sender.js'
import { startServer } from '../../../src/server/listen.js'
import { newReceiver, until } from '../../support/server/deliveries.js'
import { standaloneServer } from '../../support/server/server.js'
import { newTenant } from '../../support/server/tenant.js'

it('--dev-webhook-loopback is refused unless the server listens on loopback', { tags: 'webhook-urls/5' }, async () => {
  const options = { memory: true, port: 0, webhookLoopbackPorts: [8787] }
  await expect(startServer({ ...options, host: '0.0.0.0' })).rejects.toThrow(RangeError)
})

it('server delivers to named loopback ports only', { tags: ['webhook-settings/1', 'webhook-urls/5'] }, async () => {
  const [named, unnamed] = [await newReceiver(), await newReceiver()]
  const server = await standaloneServer({ webhookLoopbackPorts: [named.port], egressIps: ['93.184.215.14'] })
  try {
    const tenant = await newTenant(server)
    const bot = await tenant.bot()
    const set = (url: string) => bot.call(contract.webhook.setByBot, { url })
    expect((await set(unnamed.url)).code).toBe('WEBHOOK_URL_REFUSED')
    expect((await set(named.url)).status).toBe(200)
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    await until(() => named.calls.length === 1)
    const info = async () => (await bot.call(contract.webhook.info, {})).data
    await until(async () => (await info()).last_success_date !== null)
    expect(await info()).toMatchObject({ pending_update_count: 0, platform_egress_ips: ['93.184.215.14'] })
    expect(unnamed.calls).toEqual([])
    expect(server.logs.join('')).not.toContain('/hook')
  } finally {
    await server.close()
  }
})

it('loopback-only server refuses other hosts, also stored, without look-up', { tags: 'webhook-urls/5' }, async () => {
  const lookups: string[] = []
  const lookup = async (host: string) => {
    lookups.push(host)
    return []
  }
  const delivery = { url: 'https://hooks.example.com/x', body: Buffer.from('{}'), headers: {}, allowedIps: [] }
  const sender = new WebhookSender({ lookup, loopbackPorts: { has: () => true, only: true } })
  const { error } = await sender.send(delivery)
  expect([error?.code, error?.message, lookups]).toEqual(['url_refused', expect.stringContaining('not_loopback'), []])
  await sender.close()
  const receiver = await newReceiver()
  const server = await standaloneServer({ webhookLoopbackOnly: true })
  try {
    const tenant = await newTenant(server)
    const bot = await tenant.bot()
    const set = (url: string) => bot.call(contract.webhook.setByBot, { url })
    expect(await set('https://hooks.example.com/x')).toMatchObject({
      code: 'WEBHOOK_URL_REFUSED',
      details: { reason: 'not_loopback' },
    })
    expect((await set(receiver.url)).status).toBe(200)
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    await until(() => receiver.calls.length === 1)
  } finally {
    await server.close()
  }
})
