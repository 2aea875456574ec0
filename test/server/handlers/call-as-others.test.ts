import { beforeAll, describe, expect, it } from 'vitest'
import { type BotScope, botScopes, type InputOf } from '../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../src/contract/index.js'
import type { MadeCall } from '../../../src/contract/platform/acting.js'
import type { ActivityLine, RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { linesOf, sharedApp, testApp } from '../../support/server/app.js'
import { newChat, say } from '../../support/server/chats.js'
import { callerOf } from '../../support/server/client.js'
import { botBody, newTenant, serial, type Tenant, type TestBot } from '../../support/server/tenant.js'
import { HOOK_URL } from '../../support/server/webhooks.js'

const { platform, bots, webhook, apps } = contract
const SECRET = 'EXAMPLE-secret_0123456789abcdef'

const server = sharedApp()
let tenant: Tenant
let bot: TestBot
beforeAll(async () => {
  tenant = await newTenant(server)
  bot = await tenant.itsBot()
})

type BotInput = Omit<InputOf<typeof platform.callAsBot>, 'botId'>
type AccountInput = Omit<InputOf<typeof platform.callAsAccount>, 'accountId'>
const sendAsBot = (given: BotInput, botId = bot.id) => tenant.operator(platform.callAsBot, { botId, ...given })
const asBot = async (given: BotInput, botId = bot.id): Promise<MadeCall> => (await sendAsBot(given, botId)).data
const sendAsAccount = (given: AccountInput, accountId = tenant.accountId) =>
  tenant.operator(platform.callAsAccount, { accountId, ...given })
const asAccount = async (given: AccountInput, accountId?: string) => (await sendAsAccount(given, accountId)).data
const dataOf = ({ body }: MadeCall) => body?.data as Record<string, unknown>

describe('calls as a bot', () => {
  it('operator sets and reads the webhook of a bot, and sees neither its path nor its secret', async () => {
    const own = await tenant.bot()
    const input = { url: HOOK_URL, secret_token: SECRET, allowed_updates: ['ping'] }
    const set = await sendAsBot({ endpoint: 'webhook.setByBot', input }, own.id)
    expect([set.data.status, set.data.code]).toEqual([200, null])
    expect(dataOf(set.data)).toMatchObject({ delivery_mode: 'webhook', has_secret_token: true })
    expect(set.data.request.body).toEqual({ url: '[hidden]', secret_token: '[hidden]', allowed_updates: ['ping'] })
    const info = await sendAsBot({ endpoint: 'webhook.info', input: {} }, own.id)
    expect(dataOf(info.data)).toMatchObject({ url: '[hidden]', allowed_updates: ['ping'] })
    for (const text of [set.text, info.text]) {
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain(HOOK_URL)
    }
    expect((await own.call(webhook.info, {})).data).toMatchObject({ url: HOOK_URL, allowed_updates: ['ping'] })
  })

  it('operator sends a message, issues a voucher into a chat and polls as the bot', async () => {
    const own = await tenant.linkedBot()
    const chat = await newChat(tenant, own)
    await say(tenant, chat, 'Hello')
    const polled = await asBot({ endpoint: 'bots.updates', input: { timeout: 50 } }, own.id)
    expect((dataOf(polled).items as { type: string }[]).map((it) => it.type)).toEqual(['my_chat_member', 'message'])
    const sent = await asBot({ endpoint: 'bots.send', input: { chat_id: chat.id, text: 'One coffee' } }, own.id)
    expect(dataOf(sent)).toMatchObject({ text: 'One coffee', from: { id: own.id } })
    const { id: template_id } = await tenant.template()
    const input = { chat_id: chat.id, template_id, external_issue_id: `issue-${serial()}` }
    const issued = await asBot({ endpoint: 'bots.issue', input, idempotency_key: 'order-1' }, own.id)
    expect(issued).toMatchObject({ status: 201, request: { idempotency_key: 'order-1' } })
    expect(JSON.stringify(issued.body)).toContain('[hidden]')
    const voucherId = String(dataOf(issued).id)
    const { events, voucher } = (await tenant.operator(platform.voucher, { voucherId })).data
    expect(events.map((it) => [it.type, it.by_operator])).toContainEqual(['issued', true])
    expect(voucher).toMatchObject({ channel: 'bot', botId: own.id })
  })

  it('a poll of the operator ends when the bot gets an update', async () => {
    const own = await tenant.bot()
    const polled = asBot({ endpoint: 'bots.updates', input: { timeout: 50 } }, own.id)
    await expect.poll(() => server.deps.polls.isOpen(own.id)).toBe(true)
    await tenant.operator(platform.addUpdate, { botId: own.id, type: 'ping' })
    expect(dataOf(await polled)).toMatchObject({ items: [{ type: 'ping' }] })
  })

  it('bot without scope, link or approval is refused as with its token', { tags: 'acting-for-others/1' }, async () => {
    const withScopes = (scopes: readonly BotScope[]) => tenant.bot(scopes)
    const sender = await withScopes(['messages:send'])
    expect((await asBot({ endpoint: 'webhook.info', input: {} }, sender.id)).code).toBe('INSUFFICIENT_SCOPE')
    const own = await withScopes(botScopes)
    const issue = { chat_id: 'chat_1', template_id: 'tpl_1', external_issue_id: 'a' }
    expect((await asBot({ endpoint: 'bots.issue', input: issue }, own.id)).code).toBe('BOT_NOT_LINKED')
    await tenant.operator(platform.disableBot, { botId: own.id })
    const disabled = await asBot({ endpoint: 'webhook.info', input: {} }, own.id)
    expect([disabled.status, disabled.code]).toEqual([403, 'BOT_DISABLED'])
    const applied = await tenant.appliedBot()
    expect((await asBot({ endpoint: 'webhook.info', input: {} }, applied.id)).code).toBe('BOT_DISABLED')
  })

  it('bot of a suspended application issues nothing; its encryption policy does not apply', async () => {
    const own = await newTenant(server)
    const linked = await own.linkedBot()
    const issue = { chat_id: 'chat_1', template_id: 'tpl_1', external_issue_id: 'a' }
    const issuing = async () => (await asBot({ endpoint: 'bots.issue', input: issue }, linked.id)).code
    await own.console(apps.update, { appId: own.appId, secure_transport: 'required' })
    expect(await issuing()).toBe('CHAT_NOT_FOUND')
    await own.operator(platform.suspendApp, { appId: own.appId })
    expect(await issuing()).toBe('APPLICATION_DISABLED')
  })

  it('refused webhook URL has the reason, and changes nothing', async () => {
    const own = await tenant.bot()
    const input = { url: 'http://127.0.0.1:3000/hook', secret_token: SECRET }
    const refused = await asBot({ endpoint: 'webhook.setByBot', input }, own.id)
    expect([refused.status, refused.code]).toEqual([400, 'WEBHOOK_URL_REFUSED'])
    expect((await own.call(webhook.info, {})).data.url).toBeNull()
  })

  it('webhook gets no new secret, which nobody could read, and keeps one that it has', async () => {
    const own = await tenant.bot()
    const input = { url: HOOK_URL }
    const setAsAccount = () => asAccount({ endpoint: 'webhook.set', input: { botId: own.id, ...input } })
    for (const refused of [await asBot({ endpoint: 'webhook.setByBot', input }, own.id), await setAsAccount()]) {
      expect([refused.status, refused.body?.details]).toMatchObject([400, { errors: [{ pointer: '/secret_token' }] }])
    }
    expect((await own.call(webhook.info, {})).data.url).toBeNull()
    await own.call(webhook.setByBot, { ...input, secret_token: SECRET })
    expect((await setAsAccount()).code).toBeNull()
  })

  it('log and activity mark the call with bot and by_operator', async () => {
    await asBot({ endpoint: 'webhook.info', input: {} })
    const last = (await linesOf<RequestLogEntry>(server, platform.requests.path)).slice(-2)
    expect(last).toMatchObject([
      { endpoint: 'webhook.info', bot_id: bot.id, by_operator: true },
      { endpoint: 'platform.callAsBot' },
    ])
    const shown = (await linesOf<ActivityLine>(server, platform.activity.path)).at(-1)
    expect(shown).toMatchObject({ request: { endpoint: 'webhook.info', bot_id: bot.id, by_operator: true } })
  })

  it.each([
    [{ endpoint: 'vouchers.issue', input: {} }, '/endpoint'],
    [{ endpoint: 'webhook.set', input: {} }, '/endpoint'],
    [{ endpoint: 'webhook.info' }, '/input'],
    [{ endpoint: 'webhook.info', input: {}, voucher_id: 'vch_1' }, '/voucher_id'],
  ])('call as a bot with %j is refused', async (given, pointer) => {
    const response = await sendAsBot(given as unknown as BotInput)
    expect([response.status, response.details.errors]).toMatchObject([400, [{ pointer }]])
  })

  it('unknown bot is refused', async () => {
    expect((await sendAsBot({ endpoint: 'webhook.info', input: {} }, 'bot_unknown')).code).toBe('BOT_NOT_FOUND')
  })
})

describe('calls as an account', () => {
  it('operator makes console calls of an account without a JWT', async () => {
    const created = await asAccount({ endpoint: 'apps.create', input: { name: 'Second shop' } })
    expect([created.status, dataOf(created).name]).toEqual([201, 'Second shop'])
    const appId = String(dataOf(created).id)
    expect((await tenant.console(apps.get, { appId })).data.name).toBe('Second shop')
    const deleted = await asAccount({
      endpoint: 'webhook.delete',
      input: { botId: bot.id, drop_pending_updates: true },
    })
    expect(dataOf(deleted)).toMatchObject({ delivery_mode: 'polling' })
    expect(deleted.request.url).toBe(`/api/v1/bots/my/${bot.id}/webhook?drop_pending_updates=true`)
    const last = (await linesOf<RequestLogEntry>(server, platform.requests.path)).at(-2)
    expect(last).toMatchObject({ endpoint: 'webhook.delete', account_id: tenant.accountId, by_operator: true })
  })

  it('objects of another account are unknown, and an account that has called nothing has none', async () => {
    const input = { appId: tenant.appId }
    expect((await asAccount({ endpoint: 'apps.get', input }, 'somebody-else')).code).toBe('APPLICATION_NOT_FOUND')
    const listed = await asAccount({ endpoint: 'apps.list', input: {} }, 'somebody-else')
    expect(dataOf(listed)).toMatchObject({ items: [] })
    expect((await sendAsAccount({ endpoint: 'apps.list', input: {} }, 'no such account')).code).toBe(
      'VALIDATION_FAILED',
    )
  })

  it('operator reads a bot without creating its first token, which its owner still gets', async () => {
    const { id: botId } = await tenant.approvedBot()
    const read = await asAccount({ endpoint: 'bots.get', input: { botId } })
    expect(dataOf(read)).toMatchObject({ id: botId, has_token: false })
    expect((await tenant.console(bots.get, { botId })).data.one_time_token).toMatch(/^sbot_/)
  })

  it('every call of bots and accounts is offered, except those that only make a token', {
    tags: 'acting-for-others/1',
  }, async () => {
    const idsOf = ({ body }: { readonly body: unknown }) =>
      (body as { properties: { endpoint: { enum: string[] } } }).properties.endpoint.enum
    const offered = [...idsOf(platform.callAsBot), ...idsOf(platform.callAsAccount)]
    const ids = endpoints.filter((it) => it.caller === 'bot' || it.caller === 'jwt').map((it) => it.id)
    const missing = ids.filter((id) => !offered.includes(id))
    expect(missing.sort()).toEqual(['bots.regenerateToken', 'tokens.create'])
    for (const endpoint of missing) {
      const response = await sendAsAccount({ endpoint, input: {} } as unknown as AccountInput)
      expect([response.status, response.details.errors]).toMatchObject([400, [{ pointer: '/endpoint' }]])
    }
  })

  it('server beyond loopback makes no call as a bot or an account', async () => {
    const open = testApp({ store: server.deps.store, isLoopback: false })
    const operator = callerOf(open.send, open.operatorKey)
    const input = { name: 'Nothing', username: botBody().username }
    const refused = [
      await operator(platform.callAsBot, { botId: bot.id, endpoint: 'webhook.info', input: {} }),
      await operator(platform.callAsAccount, { accountId: tenant.accountId, endpoint: 'bots.apply', input }),
    ]
    expect(refused.map((it) => [it.status, it.code])).toEqual(refused.map(() => [403, 'SERVER_NOT_LOOPBACK']))
    const own = (await tenant.console(bots.list, { limit: 100 })).data.items
    expect(own.map((it) => it.username)).not.toContain(input.username)
    await open.close()
  })
})
