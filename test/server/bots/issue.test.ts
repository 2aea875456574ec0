import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Chat } from '../../../src/contract/chats.js'
import type { InputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { newChat, pollOf } from '../../support/server/chats.js'
import type { Extra } from '../../support/server/client.js'
import { codeOf, newTenant, serial, type Tenant, type TestBot } from '../../support/server/tenant.js'

let server: TestApp
let tenant: Tenant
let bot: TestBot
let chat: Chat
let templateId: string
beforeAll(() => {
  server = testApp()
})
beforeEach(async () => {
  tenant = await newTenant(server)
  bot = await tenant.linkedBot()
  chat = await newChat(tenant, bot, { user_id: 'ann' })
  templateId = (await tenant.template()).id
})
afterAll(() => server.close())

type Input = InputOf<typeof contract.bots.issue>

const issue = (overrides: Partial<Input> = {}, extra: Extra = {}) => {
  const input = { chat_id: chat.id, template_id: templateId, external_issue_id: `order-${serial()}`, ...overrides }
  return bot.call(contract.bots.issue, input, extra)
}
const direct = (overrides: object = {}) =>
  tenant.runtime(contract.vouchers.issue, {
    template_id: templateId,
    external_issue_id: `order-${serial()}`,
    recipient_user_id: 'ann',
    ...overrides,
  })
const transcript = async (of: Pick<Chat, 'id'> = chat) =>
  (await tenant.operator(contract.platform.messages, { chatId: of.id, limit: 100 })).data.items
const issuedCount = async () => (await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount

describe('issue through a bot', () => {
  it('bot issue makes a voucher and a message with its codes', { tags: ['bot-issue/1', 'bot-issue/2'] }, async () => {
    const response = await issue({ external_issue_id: 'order-1', metadata: { table: '7' } })
    expect(response.status).toBe(201)
    expect(response.headers['idempotent-replayed']).toBeUndefined()
    const { credentials, delivery, ...voucher } = response.data
    expect(voucher).toMatchObject({
      templateId,
      applicationId: tenant.appId,
      externalIssueId: 'order-1',
      recipientUserId: 'ann',
      status: 'issued',
      channel: 'bot',
      botId: bot.id,
      metadata: { table: '7' },
    })
    expect(credentials.map((it) => it.type)).toEqual(['redeem_code', 'qr_token'])
    expect(delivery).toEqual({ chat_id: chat.id, message_id: 1 })
    expect(await transcript()).toEqual([
      {
        message_id: 1,
        date: Math.floor(server.clock.now() / 1000),
        chat: { id: chat.id, type: 'private' },
        from: { id: bot.id, is_bot: true },
        text: 'You have received a voucher: One free coffee',
        voucher: { id: voucher.id, name: 'One free coffee', credentials },
      },
    ])
    const redeemed = await tenant.runtime(contract.vouchers.redeem, {
      credential: codeOf((await transcript())[0]?.voucher ?? { credentials: [] }),
    })
    expect(redeemed.data.voucherId).toBe(voucher.id)
  })

  it('bot issue stores no credential in chats or updates', { tags: ['credentials/1', 'bot-issue/2'] }, async () => {
    await pollOf(bot, { allowed_updates: ['voucher_issued'] })
    const { credentials } = (await issue()).data
    const stored = JSON.stringify(
      await server.deps.store.read(function* () {
        return [
          yield { kind: 'all', sql: 'select * from messages', params: [] },
          yield { kind: 'all', sql: 'select * from updates', params: [] },
          yield { kind: 'all', sql: 'select * from idempotency_keys', params: [] },
        ]
      }),
    )
    expect(stored).toContain('voucher_issued')
    for (const { value } of credentials) expect(stored).not.toContain(value)
  })

  it('bot issue writes neither voucher nor message if one of them fails', async () => {
    await server.deps.store.write(function* () {
      // Make the write of the next message fail: its id already exists.
      yield {
        kind: 'run',
        sql: `insert into messages (chat_id, message_id, sent_at, from_bot, text) values ($1, 1, 0, 0, 'x')`,
        params: [chat.id],
      }
    })
    expect((await issue({ external_issue_id: 'order-1' })).code).toBe('INTERNAL_ERROR')
    expect(await issuedCount()).toBe(0)
    expect((await direct({ external_issue_id: 'order-1' })).status).toBe(201)
  })

  it('bot issue creates no voucher update for a bot whose allowed_updates exclude vouchers', async () => {
    await issue()
    expect((await pollOf(bot)).map((it) => it.type)).toEqual(['my_chat_member'])
  })
})

describe('repeated bot issue', () => {
  it('replayed bot issue keeps its status even if the user blocked the bot', { tags: 'bot-issue/2' }, async () => {
    const input = { external_issue_id: 'order-1' }
    const first = await issue(input, { key: 'K' })
    await tenant.operator(contract.platform.blockChat, { chatId: chat.id })
    const again = await issue(input, { key: 'K' })
    expect([again.status, again.headers['idempotent-replayed'], again.sameness]).toEqual([201, 'true', first.sameness])
    expect((await issue(input)).code).toBe('BOT_BLOCKED')
    expect(await transcript()).toHaveLength(1)
  })

  it('bot issue without Idempotency-Key stores no idempotency record; a malformed key is refused', async () => {
    const { path, method } = contract.bots.issue
    const headers = { authorization: `Bearer ${bot.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ chat_id: chat.id, template_id: templateId, external_issue_id: 'order-1' })
    const statuses = [
      await server.send({ method, path, headers, body }),
      await server.send({ method, path, headers, body }),
    ]
    expect(statuses.map((it) => it.status)).toEqual([201, 200])
    const [row] = await server.deps.store.read(function* () {
      const sql = 'select count(*) as n from idempotency_keys where application_id = $1'
      return (yield { kind: 'all', sql, params: [tenant.appId] }) as { n: number }[]
    })
    expect(row?.n).toBe(0)
    expect((await issue({}, { key: 'two words' })).code).toBe('IDEMPOTENCY_KEY_INVALID')
  })
})

describe('external_issue_id shared by both issue endpoints', () => {
  it('bot issue with the external_issue_id of a direct issue only returns the existing voucher', async () => {
    const first = (await direct({ external_issue_id: 'order-1' })).data
    for (const key of ['K', 'K', 'L']) {
      const { status, data } = await issue({ external_issue_id: 'order-1' }, { key })
      expect([status, data]).toEqual([200, { ...first, delivery: null }])
    }
    expect(await transcript()).toEqual([])
  })

  it('concurrent issues make one voucher', { tags: ['templates/1', 'issue/1', 'issue/2', 'bot-issue/2'] }, async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => issue({ external_issue_id: 'order-1' }, { key: `K${index}` })),
    )
    expect(responses.filter((it) => it.status === 201)).toHaveLength(1)
    expect(new Set(responses.map((it) => JSON.stringify(it.data))).size).toBe(1)
    expect(await transcript()).toHaveLength(1)
    expect(await issuedCount()).toBe(1)
    expect((await direct({ external_issue_id: 'order-1', recipient_user_id: 'bob' })).status).toBe(409)
    const mixed = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 ? issue({ external_issue_id: 'order-2' }) : direct({ external_issue_id: 'order-2' }),
      ),
    )
    expect(new Set(mixed.map((it) => it.data.id)).size).toBe(1)
    expect(await issuedCount()).toBe(2)
  })
})

describe('refused bot issue', () => {
  it('bot issue checks chat, chat type and block before the template', {
    tags: ['chats/2', 'bot-issue/1', 'bot-issue/2'],
  }, async () => {
    const nowhere = { template_id: 'tpl_none' }
    expect((await issue({ ...nowhere, chat_id: 'chat_none' })).code).toBe('CHAT_NOT_FOUND')
    const ofOther = await newChat(tenant, await tenant.linkedBot())
    expect((await issue({ chat_id: ofOther.id })).code).toBe('CHAT_NOT_FOUND')
    const group = await newChat(tenant, bot, { type: 'group' })
    await tenant.operator(contract.platform.blockChat, { chatId: group.id })
    expect((await issue({ ...nowhere, chat_id: group.id })).code).toBe('CHAT_NOT_PRIVATE')
    await tenant.operator(contract.platform.blockChat, { chatId: chat.id })
    expect((await issue(nowhere)).code).toBe('BOT_BLOCKED')
    await tenant.operator(contract.platform.unblockChat, { chatId: chat.id })
    expect((await issue(nowhere)).code).toBe('TEMPLATE_NOT_FOUND')
    expect(await transcript()).toEqual([])
  })

  it('bot issue with recipient_user_id is refused because the chat defines it', async () => {
    expect((await issue({ recipient_user_id: 'bob' } as object)).code).toBe('VALIDATION_FAILED')
  })
})

describe('voucher updates of a linked bot', () => {
  const types = ['voucher_issued', 'voucher_redeemed', 'voucher_reversed'] as const
  const voucherUpdatesOf = async (by: TestBot = bot) =>
    (await pollOf(by))
      .filter((it) => it.type.startsWith('voucher_'))
      .map((it) => [it.type, (it as Record<string, unknown>)[it.type]])

  it('linked bot receives an update without credentials for every issue, redemption and reversal', async () => {
    await pollOf(bot, { allowed_updates: [...types] })
    const { credentials: _, ...first } = (await direct()).data
    const issued = await issue()
    const { credentials: __, delivery: ___, ...second } = issued.data
    const redeemed = (await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(issued.data) })).data
    const reversed = (await tenant.runtime(contract.vouchers.reverse, { redemptionId: redeemed.id })).data
    expect(await voucherUpdatesOf()).toEqual([
      ['voucher_issued', { voucher: first }],
      ['voucher_issued', { voucher: second }],
      ['voucher_redeemed', { redemption: redeemed }],
      ['voucher_reversed', { redemption: reversed }],
    ])
  })

  it('replays, repeats and refusals of voucher calls create no voucher updates', async () => {
    await pollOf(bot, { allowed_updates: [...types] })
    const voucher = await tenant.issue(templateId, { key: 'K' })
    const input = {
      template_id: templateId,
      external_issue_id: voucher.externalIssueId,
      recipient_user_id: 'user-1',
    }
    await tenant.runtime(contract.vouchers.issue, input, { key: 'K' })
    await tenant.runtime(contract.vouchers.issue, input)
    await tenant.runtime(contract.vouchers.issue, { ...input, recipient_user_id: 'other' })
    const { id } = await tenant.redeem(voucher, { key: 'R' })
    await tenant.redeem(voucher, { key: 'R' })
    await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
    await tenant.runtime(contract.vouchers.reverse, { redemptionId: id }, { key: 'V' })
    await tenant.runtime(contract.vouchers.reverse, { redemptionId: id }, { key: 'V' })
    await tenant.runtime(contract.vouchers.reverse, { redemptionId: id })
    expect((await voucherUpdatesOf()).map(([type]) => type)).toEqual([...types])
  })

  it('voucher updates go to linked bots that chose them', { tags: ['update-types/1', 'applications/1'] }, async () => {
    const [second, silent] = [await tenant.linkedBot(), await tenant.linkedBot()]
    const stranger = await (await newTenant(server)).linkedBot()
    for (const by of [bot, second, stranger]) await pollOf(by, { allowed_updates: [...types] })
    await direct()
    await tenant.console(contract.apps.unlinkBot, { appId: tenant.appId, botId: second.id })
    await direct()
    const counts = await Promise.all(
      [bot, second, silent, stranger].map(async (by) => (await voucherUpdatesOf(by)).length),
    )
    expect(counts).toEqual([2, 1, 0, 0])
  })
})
