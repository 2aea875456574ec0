import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { all } from '../../../src/store/operation.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { DeliveryScene, SECRET } from '../../support/server/deliveries.js'
import { newTenant } from '../../support/server/tenant.js'

const URL_OF = 'https://hooks.example.com:8443/a-secret-path'

let server: TestApp
let addresses: readonly string[] | Error
let during: () => unknown = () => {}
const lookups: string[] = []
beforeAll(() => {
  const lookup = async (host: string) => {
    lookups.push(host)
    await during()
    if (addresses instanceof Error) throw addresses
    return addresses
  }
  addresses = ['93.184.215.14']
  server = testApp({ webhooks: { loopbackPorts: new Set(), egressIps: ['93.184.215.99'], lookup } })
})
afterAll(() => server.close())

async function botOf() {
  const tenant = await newTenant(server)
  const bot = await tenant.bot()
  const set = (input: Record<string, unknown> = {}) =>
    tenant.console(contract.webhook.set, { botId: bot.id, url: URL_OF, ...input })
  const ping = async () => {
    const input = { botId: bot.id, type: 'ping' as const, payload: {} }
    return (await tenant.operator(contract.platform.addUpdate, input)).data.update_id
  }
  const remove = (input: Record<string, unknown> = {}) =>
    tenant.console(contract.webhook.delete, { botId: bot.id, ...input })
  const deliveries = async () => (await tenant.console(contract.webhook.deliveries, { botId: bot.id })).data.items
  const info = async () => (await bot.call(contract.webhook.info, {})).data
  return { tenant, bot, set, ping, remove, deliveries, info }
}

describe('webhook settings', () => {
  it('webhook set returns a redacted URL, and a new secret only once', { tags: 'webhook-settings/3' }, async () => {
    const { set, info } = await botOf()
    const first = await set()
    expect(first.data).toEqual({
      delivery_mode: 'webhook',
      url: 'https://hooks.example.com:8443/…',
      has_secret_token: true,
      allowed_updates: ['message', 'my_chat_member', 'friend_request', 'inline_query', 'ping'],
      allowed_ips: [],
      max_connections: 40,
      pending_update_count: 0,
      dropped_updates: 0,
      warnings: [],
      one_time_secret_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    })
    const again = await set()
    expect(again.data).toEqual({ ...first.data, one_time_secret_token: undefined })
    expect(await info()).toEqual({
      url: URL_OF,
      delivery_mode: 'webhook',
      has_secret_token: true,
      pending_update_count: 0,
      failed_count: 0,
      dead_letter_count: 0,
      ip_address: null,
      last_error_date: null,
      last_error_message: null,
      last_success_date: null,
      max_connections: 40,
      allowed_updates: first.data.allowed_updates,
      allowed_ips: [],
      platform_egress_ips: ['93.184.215.99'],
    })
  })

  it('webhook set keeps settings that it does not name; allowed_updates [] resets the types', async () => {
    const { set } = await botOf()
    await set({ max_connections: 7, allowed_updates: ['voucher_issued'], allowed_ips: ['93.184.0.0/16'] })
    expect((await set({ url: 'https://hooks.example.com/other' })).data).toMatchObject({
      url: 'https://hooks.example.com/…',
      max_connections: 7,
      allowed_updates: ['voucher_issued'],
      allowed_ips: ['93.184.0.0/16'],
    })
    const reset = (await set({ allowed_updates: [], allowed_ips: [] })).data
    expect([reset.allowed_ips, reset.allowed_updates.length]).toEqual([[], 5])
  })

  it('webhook set checks form, bot, then DNS addresses', {
    tags: ['webhook-settings/1', 'webhook-urls/1', 'webhook-urls/3'],
  }, async () => {
    const { tenant } = await botOf()
    const stranger = await botOf()
    const pending = await tenant.appliedBot()
    const refused = async (botId: string, url: string, input = {}) =>
      (await tenant.console(contract.webhook.set, { botId, url, ...input })).code
    addresses = ['10.0.0.1']
    try {
      expect(await refused(stranger.bot.id, 'http://x.example.com')).toBe('WEBHOOK_URL_REFUSED')
      expect(await refused(stranger.bot.id, URL_OF, { allowed_ips: ['10.0.0.0/8'] })).toBe('VALIDATION_FAILED')
      expect(await refused(stranger.bot.id, URL_OF)).toBe('BOT_NOT_FOUND')
      expect(await refused(pending.id, URL_OF)).toBe('BOT_NOT_APPROVED')
      const own = await tenant.bot()
      const forbidden = await tenant.console(contract.webhook.set, { botId: own.id, url: URL_OF })
      expect([forbidden.code, forbidden.details]).toEqual(['WEBHOOK_URL_REFUSED', { reason: 'forbidden_address' }])
      expect((await own.call(contract.webhook.setByBot, { url: URL_OF })).code).toBe('WEBHOOK_URL_REFUSED')
      expect((await own.call(contract.webhook.info, {})).data.url).toBeNull()
    } finally {
      addresses = ['93.184.215.14']
    }
  })

  it('webhook set refuses non-public allowed_ips, and hosts outside them', { tags: 'webhook-settings/4' }, async () => {
    const { set } = await botOf()
    const invalid = await set({ allowed_ips: ['93.184.215.14', '10.0.0.0/8'] })
    expect([invalid.status, invalid.code]).toEqual([400, 'VALIDATION_FAILED'])
    expect(invalid.details).toMatchObject({ errors: [{ pointer: '/allowed_ips/1' }] })
    const excluded = { reason: 'allowed_ips_excludes_host' }
    expect((await set({ url: 'https://93.184.215.15/', allowed_ips: ['93.184.215.14'] })).details).toEqual(excluded)
    expect((await set({ allowed_ips: ['93.184.216.0/24'] })).details).toEqual(excluded)
    expect((await set({ allowed_ips: ['93.184.215.0/24'] })).status).toBe(200)
    // The earlier allowed_ips still apply to another URL.
    expect((await set({ url: 'https://1.1.1.1/' })).details).toEqual(excluded)
  })

  it('webhook set writes nothing if the bot is disabled or revoked during the DNS lookup', async () => {
    const { tenant, bot } = await botOf()
    const setAsLookUpEndsAfter = async (change: () => Promise<unknown>) => {
      during = change
      try {
        return (await bot.call(contract.webhook.setByBot, { url: URL_OF })).code
      } finally {
        during = () => {}
      }
    }
    const botId = bot.id
    expect(await setAsLookUpEndsAfter(() => tenant.operator(contract.platform.disableBot, { botId }))).toBe(
      'BOT_DISABLED',
    )
    await tenant.operator(contract.platform.enableBot, { botId })
    expect(await setAsLookUpEndsAfter(() => tenant.console(contract.bots.regenerateToken, { botId }))).toBe(
      'TOKEN_REVOKED',
    )
    expect((await tenant.console(contract.bots.get, { botId })).data.webhook).toBeNull()
  })

  it('webhook set is refused if a poll starts during the DNS lookup', { tags: 'webhook-settings/2' }, async () => {
    const { bot, set } = await botOf()
    during = () => server.deps.polls.open(bot.id)
    expect((await set()).code).toBe('POLLING_ACTIVE')
    during = () => {}
  })
})

it('list of deliveries has pages of 20, or of 1 to 100', { tags: 'lists/1' }, async () => {
  const { bot, tenant, set, ping } = await botOf()
  await set()
  for (let sent = 0; sent < 21; sent++) await ping()
  const read = (input: object) => tenant.console(contract.webhook.deliveries, { botId: bot.id, ...input })
  const sizeOf = async (input: object) => (await read(input)).data.items.length
  expect((await read({})).data.pagination).toEqual({ page: 1, limit: 20, total: 21, pages: 2 })
  expect([await sizeOf({}), await sizeOf({ page: 21, limit: 1 }), await sizeOf({ limit: 100 })]).toEqual([20, 1, 21])
  expect([(await read({ limit: 0 })).status, (await read({ limit: 101 })).status]).toEqual([400, 400])
})

describe('stored webhook secrets', () => {
  it('no table stores URL path or secret of a webhook in plain text', { tags: 'stored-secrets/2' }, async () => {
    const scene = await DeliveryScene.open()
    const receiver = await scene.receiver()
    receiver.respond = () => 500
    await scene.set({ url: `${receiver.url}/secret-path` })
    await scene.set({ url: `${receiver.url}/secret-path` }, { secret_token: 'second-secret', secret_grace_seconds: 60 })
    await scene.untilStatus(await scene.ping(), 'failed')
    const rows = await scene.server.deps.store.read(function* () {
      const found = []
      for (const table of ['webhooks', 'deliveries', 'delivery_attempts', 'bots']) {
        found.push(...(yield* all(`select * from ${table}`)))
      }
      return found
    })
    const text = JSON.stringify(rows)
    for (const secret of ['secret-path', SECRET, 'second-secret']) expect(text).not.toContain(secret)
    expect(text).toContain(`http://127.0.0.1:${receiver.port}`)
  })
})
