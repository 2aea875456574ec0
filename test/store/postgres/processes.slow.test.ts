import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { query } from '../../support/postgres/query.js'
import { wireSession } from '../../support/secure/wire.js'
import { newChat, say } from '../../support/server/chats.js'
import { type ServerChild, startServerChild } from '../../support/server/child.js'
import { type ApiResponse, callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { at, serverPair, tally } from '../../support/server/pair.js'
import { temporaryFolder } from '../../support/server/server.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'

const servers = serverPair()
const spread: typeof servers.spread = (...call) => servers.spread(...call)

describe('races between two processes', () => {
  it('of 100 redeems at two processes one succeeds; refusals name it', { tags: 'redemptions/1' }, async () => {
    const tenant = await newTenant(servers.first)
    const voucher = await tenant.issue()
    const responses = await spread(100, tenant, (to, index) =>
      to.runtime(contract.vouchers.redeem, { credential: codeOf(voucher, index % 4 < 2 ? 'qr_token' : 'redeem_code') }),
    )
    expect(tally(responses)).toEqual({ null: 1, VOUCHER_ALREADY_REDEEMED: 99 })
    const won = responses.find((it) => it.code === null)
    const named = new Set(responses.filter((it) => it.code !== null).map((it) => it.details.redemption_id))
    expect(named).toEqual(new Set([won?.data.id]))
  })

  it('60 concurrent issues at two processes with a quota of 20 create 20 vouchers', { tags: 'issue/1' }, async () => {
    const tenant = await newTenant(servers.first)
    const { id } = await tenant.template({ issue_limit: 20 })
    const responses = await spread(60, tenant, (to, index) =>
      to.runtime(contract.vouchers.issue, { template_id: id, external_issue_id: `o-${index}`, recipient_user_id: 'u' }),
    )
    expect(tally(responses)).toEqual({ null: 20, TEMPLATE_QUOTA_EXHAUSTED: 40 })
    const issued = responses.filter((it) => it.code === null).map((it) => it.data)
    expect(new Set(issued.flatMap((it) => it.credentials.map(({ value }) => value))).size).toBe(40)
    expect((await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount).toBe(20)
  })

  it.each(['issue', 'redeem', 'reverse'] as const)(
    '100 concurrent calls of %s with one key at two processes have one effect, equal responses',
    { tags: 'keys-in-flight/1' },
    async (what) => {
      const tenant = await newTenant(servers.first)
      const { id: templateId } = await tenant.template()
      const voucher = await tenant.issue(templateId)
      const redemption = what === 'reverse' ? await tenant.redeem(voucher) : null
      const input = { template_id: templateId, external_issue_id: 'o-1', recipient_user_id: 'u' }
      const responses = await spread<ApiResponse>(100, tenant, (to) => {
        const extra = { key: `one-of-${what}` }
        if (what === 'issue') return to.runtime(contract.vouchers.issue, input, extra)
        if (what === 'redeem') return to.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, extra)
        return to.runtime(contract.vouchers.reverse, { redemptionId: redemption?.id as string }, extra)
      })
      expect(tally(responses)).toEqual({ null: 100 })
      expect(new Set(responses.map((it) => `${it.status} ${it.sameness}`)).size).toBe(1)
      expect(responses.filter((it) => it.headers['idempotent-replayed'] === undefined).length).toBe(1)
    },
  )

  it('of two requests with one key at two processes, one is refused', { tags: 'idempotency-keys/4' }, async () => {
    const tenant = await newTenant(servers.first)
    for (let round = 0; round < 3; round++) {
      const vouchers = [await tenant.issue(), await tenant.issue()]
      const responses = await spread(2, tenant, (to, index) =>
        to.runtime(
          contract.vouchers.redeem,
          { credential: codeOf(vouchers[index] as (typeof vouchers)[number]) },
          { key: `two-requests-${round}` },
        ),
      )
      expect(tally(responses)).toEqual({ null: 1, IDEMPOTENCY_KEY_REUSED: 1 })
    }
  })

  it('two redeems with one key that two processes held at received redeem once', async () => {
    const tenant = await newTenant(servers.first)
    const voucher = await tenant.issue()
    const both = [tenant, at(servers.second, tenant)]
    const hold = { endpoint: 'vouchers.redeem', kind: 'hold', at: 'received', hold_ms: 3_600_000 } as const
    for (const to of both) await to.operator(contract.platform.addFault, hold)
    const redeems = both.map((to) =>
      to.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'one-of-two' }),
    )
    for (const to of both)
      await until(async () => (await to.operator(contract.platform.faults, {})).data.held.length === 1)
    await Promise.all(both.map((to) => to.operator(contract.platform.releaseCalls, {})))
    const responses = await Promise.all(redeems)
    expect(tally(responses)).toEqual({ null: 2 })
    expect(responses.filter((it) => it.headers['idempotent-replayed'] === undefined).length).toBe(1)
  })

  it('concurrent creates at two processes stop at 50 applications of an account', async () => {
    const tenant = await newTenant(servers.first)
    const responses = await spread(60, tenant, (to) => to.console(contract.apps.create, { name: 'Shop' }))
    expect(tally(responses)).toEqual({ null: 49, APPLICATION_LIMIT_REACHED: 11 })
  })

  it('updates of a bot from two processes have ids without gaps', { tags: 'updates/1' }, async () => {
    const tenant = await newTenant(servers.first)
    const bot = await tenant.bot()
    const made = await spread(60, tenant, (to) =>
      to.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' }),
    )
    const ids = made.map((it) => it.data.update_id).sort((a, b) => a - b)
    expect(ids).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
  })
})

describe('borrowed webhook', () => {
  it('listener at a second process is refused; both return the webhook', { tags: 'borrowed-webhooks/2' }, async () => {
    const tenant = await newTenant(servers.first)
    const bot = await tenant.bot()
    const [first, second] = [servers.first, servers.second].map((it) => callerOf(it.send, it.operatorKey))
    const listener = { botId: bot.id, port: 4000, secret_token: 'its-secret', holder: 'a listener' }
    const tried = await Promise.all([
      first?.(contract.platform.borrowWebhook, { ...listener, leaseId: 'a' }),
      second?.(contract.platform.borrowWebhook, { ...listener, leaseId: 'b' }),
    ])
    expect(tried.map((it) => it?.code).toSorted()).toEqual(['WEBHOOK_BORROWED', null])
    const lease = { botId: bot.id, leaseId: tried[0]?.code === null ? 'a' : 'b' }
    const renewed = await Promise.all(
      [first, second].map((it) => it?.(contract.platform.borrowWebhook, { ...listener, ...lease })),
    )
    expect(renewed.map((it) => it?.code)).toEqual([null, null])
    const returned = await Promise.all([first, second].map((it) => it?.(contract.platform.returnWebhook, lease)))
    expect(returned.map((it) => it?.data.returned).toSorted()).toEqual([false, true])
    expect((await bot.call(contract.webhook.info, {})).data.url).toBeNull()
  })
})

describe('changes that reach the other process', () => {
  it('revoked token is refused at the next request to another process', { tags: 'application-tokens/1' }, async () => {
    const tenant = await newTenant(servers.first)
    const other = at(servers.second, tenant)
    for (let round = 0; round < 5; round++) {
      const { id, token } = await tenant.newToken()
      const call = callerOf(servers.second.send, token)
      expect((await call(contract.templates.list, {})).status).toBe(200)
      await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: id })
      expect((await call(contract.templates.list, {})).code).toBe('TOKEN_REVOKED')
    }
    expect((await other.runtime(contract.templates.list, {})).status).toBe(200)
  })

  it('held poll returns an update that the other process creates', async () => {
    const tenant = await newTenant(servers.first)
    const bot = await tenant.bot()
    const held = callerOf(servers.second.send, bot.token)(contract.bots.updates, { timeout: 50 })
    await until(() => isHeld(bot.id))
    const chat = await newChat(tenant, bot)
    await say(tenant, chat, 'Hello')
    expect((await held).data.items.length).toBeGreaterThan(0)
  })

  it('newer poll at one process ends the older poll at the other process', { tags: 'polling/3' }, async () => {
    const tenant = await newTenant(servers.first)
    const bot = await tenant.bot()
    const polls = [servers.first, servers.second].map((server) => callerOf(server.send, bot.token))
    const [here, there] = polls as [(typeof polls)[number], (typeof polls)[number]]
    const older = here(contract.bots.updates, { timeout: 50 })
    await until(() => isHeld(bot.id))
    const newer = there(contract.bots.updates, { timeout: 50 })
    expect((await older).code).toBe('POLL_TERMINATED')
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    expect((await newer).data.items.length).toBe(1)
  })

  it('webhook is refused while another process has a poll, then accepted', { tags: 'webhook-settings/2' }, async () => {
    const tenant = await newTenant(servers.first)
    const bot = await tenant.bot()
    const held = callerOf(servers.second.send, bot.token)(contract.bots.updates, { timeout: 50 })
    await until(() => isHeld(bot.id))
    expect(await webhookCode(tenant, bot.id)).toBe('POLLING_ACTIVE')
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    await held
    expect(await webhookCode(tenant, bot.id)).toBe(null)
  })

  /** Whether the database records an open poll of the bot. */
  const isHeld = async (botId: string) =>
    (await query(await servers.url, `select holder from open_polls where bot_id = '${botId}'`)).length > 0

  const webhookCode = async (tenant: Tenant, botId: string) =>
    (await tenant.console(contract.webhook.set, { botId, url: 'https://93.184.215.14/hook' })).code

  it('encrypted session works at two processes, each envelope only once', { tags: 'envelopes/1' }, async () => {
    const tenant = await newTenant(servers.first)
    const session = await wireSession(servers.first.send, { now: Date.now })
    const call = {
      method: 'GET',
      path: contract.templates.list.path,
      headers: { authorization: `Bearer ${tenant.token}` },
    }
    for (const server of [servers.second, servers.first]) {
      const sent = session.seal(call)
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? servers.first : servers.second).send(sent)),
      )
      const opened = responses.filter((it) => it.status === 200)
      expect(opened.length).toBe(1)
      expect(session.open(sent, opened[0] as ApiResponse).status).toBe(200)
      expect((await server.send(sent)).code).toBe('REQUEST_REPLAYED')
    }
  })

  it('two processes have the same transport keys, also after a rotation at one of them', async () => {
    const kidAt = async (server: ServerChild) => {
      const bootstrap = await server.send({ method: 'GET', path: '/api/v1/secure/bootstrap' })
      return (JSON.parse(bootstrap.text) as { kid: string }).kid
    }
    const before = await kidAt(servers.first)
    expect(await kidAt(servers.second)).toBe(before)
    await callerOf(servers.first.send, servers.first.operatorKey)(contract.platform.rotateSecureKeys, {})
    const after = await kidAt(servers.first)
    expect(after).not.toBe(before)
    await until(async () => (await kidAt(servers.second)) === after)
  })

  it('database without key file reveals no session or transport key', { tags: 'stored-secrets/2' }, async () => {
    const session = await wireSession(servers.first.send, { now: Date.now })
    const rows = await query(
      await servers.url,
      'select sealed from secure_sessions union all select sealed from secure_keys',
    )
    const text = JSON.stringify(rows)
    expect(rows.length).toBeGreaterThan(1)
    for (const key of [session.keyC2s, session.keyS2c]) {
      for (const encoding of ['base64url', 'base64', 'hex'] as const) {
        expect(text).not.toContain(Buffer.from(key).toString(encoding))
      }
    }
    expect(text).not.toContain('private_key')
  })
})

describe('process with other credential keys', () => {
  it('start with other credential keys names the missing keys', { tags: 'credential-keys-of-a-fleet/1' }, async () => {
    const other = temporaryFolder()
    const starting = startServerChild(other, 'silent', true, 0, await servers.url)
    await expect(starting).rejects.toThrow(/keys\.json does not exist.*vouchers this server shall serve/s)
    rmSync(other, { recursive: true, force: true })
  })
})
