import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { START_MS, type TestApp, testApp } from '../../support/server/app.js'
import { idsOf, newChat, pollOf, say } from '../../support/server/chats.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'

let server: TestApp
let tenant: Tenant
beforeAll(() => {
  server = testApp()
})
// Use a new account for each test, because an account has at most 20 bots.
beforeEach(async () => {
  tenant = await newTenant(server)
})
afterAll(() => server.close())

const seconds = START_MS / 1000

describe('creation of a chat', () => {
  it('new chat is private and empty, and its creation sends the bot a membership update', {
    tags: ['envelope/6', 'times/2', 'chats/2'],
  }, async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot, { user_id: 'ann' })
    expect(chat).toEqual({
      id: expect.stringMatching(/^chat_[0-9A-HJKMNP-TV-Z]{26}$/),
      type: 'private',
      bot_id: bot.id,
      user_id: 'ann',
      blocked: false,
      created_at: new Date(START_MS).toISOString(),
    })
    expect(await pollOf(bot)).toEqual([
      {
        update_id: 1,
        type: 'my_chat_member',
        created_at: new Date(START_MS).toISOString(),
        my_chat_member: {
          chat: { id: chat.id, type: 'private' },
          from: { id: 'ann', is_bot: false },
          date: seconds,
          old_status: 'left',
          new_status: 'member',
        },
      },
    ])
    const { items, pagination } = (await tenant.operator(contract.platform.messages, { chatId: chat.id })).data
    expect([items, pagination]).toEqual([[], { page: 1, limit: 20, total: 0, pages: 0 }])
  })

  it('creation of an existing chat of any type returns it without an update', { tags: 'chats/1' }, async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot, { user_id: 'ann' })
    for (const type of [undefined, 'private', 'group'] as const) {
      const input = { bot_id: bot.id, user_id: 'ann', ...(type === undefined ? {} : { type }) }
      expect((await tenant.operator(contract.platform.createChat, input)).data).toEqual(chat)
    }
    expect(idsOf(await pollOf(bot))).toEqual([1])
    const other = await newChat(tenant, bot, { user_id: 'bob' })
    expect(other.id).not.toBe(chat.id)
  })

  it('chat creation requires an approved bot, enabled or disabled', { tags: 'chats/1' }, async () => {
    const start = async (botId: string) =>
      (await tenant.operator(contract.platform.createChat, { bot_id: botId, user_id: 'ann' })).code
    expect(await start('bot_01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe('BOT_NOT_FOUND')
    expect(await start((await tenant.appliedBot()).id)).toBe('BOT_NOT_APPROVED')
    const { id } = await tenant.approvedBot()
    await tenant.operator(contract.platform.disableBot, { botId: id })
    expect(await start(id)).toBe(null)
  })

  it('20 concurrent creations of a chat create one chat and one bot update', async () => {
    const bot = await tenant.bot()
    const chats = await Promise.all(Array.from({ length: 20 }, () => newChat(tenant, bot, { user_id: 'ann' })))
    expect(new Set(chats.map((it) => it.id)).size).toBe(1)
    expect(idsOf(await pollOf(bot))).toEqual([1])
  })
})

describe('list of chats', () => {
  it('list of chats has pages, newest first, and filters by bot and user', async () => {
    const [first, second] = [await tenant.bot(), await tenant.bot()]
    const made: string[] = []
    for (const [bot, userId] of [
      [first, 'x'],
      [first, 'y'],
      [second, 'x'],
    ] as const) {
      server.clock.advance(1)
      made.push((await newChat(tenant, bot, { user_id: `list-${userId}` })).id)
    }
    const [xOfFirst, yOfFirst, xOfSecond] = made
    const list = async (filter: object) => {
      const { items, pagination } = (await tenant.operator(contract.platform.chats, filter)).data
      return [items.map((it) => it.id), pagination.total]
    }
    expect(await list({ bot_id: first.id })).toEqual([[yOfFirst, xOfFirst], 2])
    expect(await list({ user_id: 'list-x' })).toEqual([[xOfSecond, xOfFirst], 2])
    expect(await list({ bot_id: first.id, user_id: 'list-x' })).toEqual([[xOfFirst], 1])
    expect(await list({ bot_id: first.id, limit: 1, page: 2 })).toEqual([[xOfFirst], 2])
    expect(await list({ bot_id: 'bot_none' })).toEqual([[], 0])
    expect((await list({}))[0]).toEqual(expect.arrayContaining(made))
  })
})

describe('chat messages', () => {
  it('messages of user and bot in a chat share one sequence of ids, from 1', { tags: 'messages/1' }, async () => {
    const bot = await tenant.bot()
    const [chat, other] = [await newChat(tenant, bot, { user_id: 'ann' }), await newChat(tenant, bot)]
    const asked = await say(tenant, chat, 'Hello? 🎟')
    expect(asked).toEqual({
      message_id: 1,
      date: Math.floor(server.clock.now() / 1000),
      chat: { id: chat.id, type: 'private' },
      from: { id: 'ann', is_bot: false },
      text: 'Hello? 🎟',
    })
    const sent = await bot.call(contract.bots.send, { chat_id: chat.id, text: 'Hello.' })
    expect(sent.data).toEqual({
      message_id: 2,
      date: Math.floor(server.clock.now() / 1000),
      chat: { id: chat.id, type: 'private' },
      from: { id: bot.id, is_bot: true },
      text: 'Hello.',
    })
    expect((await say(tenant, other, 'x')).message_id).toBe(1)
    const { items } = (await tenant.operator(contract.platform.messages, { chatId: chat.id })).data
    expect(items).toEqual([asked, sent.data].map((it) => ({ ...it, voucher: null })))
  })

  it('chat messages of the user create bot updates, messages of the bot do not', async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    const message = await say(tenant, chat, 'Hello?')
    await bot.call(contract.bots.send, { chat_id: chat.id, text: 'Hello.' })
    const [, update, ...others] = await pollOf(bot)
    expect([update, others]).toEqual([
      { update_id: 2, type: 'message', created_at: new Date(server.clock.now()).toISOString(), message },
      [],
    ])
  })

  it('list of chat messages has pages, oldest first', async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    for (let n = 1; n <= 5; n++) await say(tenant, chat, `m${n}`)
    const page = async (number: number) => {
      const input = { chatId: chat.id, page: number, limit: 2 }
      const { items, pagination } = (await tenant.operator(contract.platform.messages, input)).data
      expect(pagination).toEqual({ page: number, limit: 2, total: 5, pages: 3 })
      return items.map((it) => it.text)
    }
    expect([await page(1), await page(2), await page(3), await page(4)]).toEqual([
      ['m1', 'm2'],
      ['m3', 'm4'],
      ['m5'],
      [],
    ])
    const far = { chatId: chat.id, page: 1_000_000_000, limit: 100 }
    expect((await tenant.operator(contract.platform.messages, far)).data.items).toEqual([])
  })

  it('bot and users can write in a group chat', { tags: 'chats/1' }, async () => {
    const bot = await tenant.bot()
    const group = await newChat(tenant, bot, { type: 'group' })
    expect((await say(tenant, group, 'all')).chat).toEqual({ id: group.id, type: 'group' })
    expect((await bot.call(contract.bots.send, { chat_id: group.id, text: 'you' })).data.message_id).toBe(2)
  })

  it('messages to a chat, 25 at a time, get ids 1 to 100, and their updates follow that order', async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    // PostgreSQL writes them one by one, so on a slow disk the last of 100 calls at once would wait too long.
    const sent = []
    for (let round = 0; round < 4; round += 1) {
      sent.push(...(await Promise.all(Array.from({ length: 25 }, (_, n) => say(tenant, chat, `m${round}.${n}`)))))
    }
    const inOrder = Array.from({ length: 100 }, (_, index) => index + 1)
    expect(sent.map((it) => it.message_id).sort((a, b) => a - b)).toEqual(inOrder)
    expect(idsOf(await pollOf(bot, { offset: 2 }))).toEqual(inOrder.map((id) => id + 1))
  })

  it.each([
    ['no characters', ''],
    ['a control character', 'a\u0007b'],
    ['a carriage return at the end', 'a\r'],
    ['two carriage returns before a line feed', 'a\r\r\nb'],
    ['a vertical tab', 'a\vb'],
    ['a next line (U+0085)', 'a\u0085b'],
    ['a bidi override', 'a\u202eb'],
    ['half a surrogate pair', 'a\ud800'],
  ])('chat message whose text has %s is refused', { tags: 'lines-of-a-message/1' }, async (_what, text) => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    expect((await bot.call(contract.bots.send, { chat_id: chat.id, text })).code).toBe('VALIDATION_FAILED')
    expect((await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text })).code).toBe(
      'VALIDATION_FAILED',
    )
    expect((await bot.call(contract.bots.send, { chat_id: chat.id, text: '🎟'.repeat(4096) })).data.message_id).toBe(1)
  })
})

describe('multi-line message', () => {
  const sent = 'Hello\r\n\tline two\n\nend\r\n'
  const kept = 'Hello\n\tline two\n\nend\n'

  it('chat message keeps line feeds and tabs, and CR LF as LF', { tags: 'lines-of-a-message/1' }, async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    const reply = await bot.call(contract.bots.send, { chat_id: chat.id, text: sent })
    const said = await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text: sent })
    expect([reply.data.text, said.data.text]).toEqual([kept, kept])
    const { items } = (await tenant.operator(contract.platform.messages, { chatId: chat.id })).data
    expect(items.map((it) => it.text)).toEqual([kept, kept])
    const updates = (await pollOf(bot)).filter(({ type }) => type === 'message')
    expect(updates).toEqual([expect.objectContaining({ message: expect.objectContaining({ text: kept }) })])
  })
})

describe('blocked chat', () => {
  it('blocked chat refuses messages of user and bot until it is unblocked', { tags: 'chats/2' }, async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    const set = async (endpoint: typeof contract.platform.blockChat | typeof contract.platform.unblockChat) =>
      (await tenant.operator(endpoint, { chatId: chat.id })).data
    const codes = async () => [
      (await bot.call(contract.bots.send, { chat_id: chat.id, text: 'x' })).code,
      (await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text: 'x' })).code,
    ]
    expect(await set(contract.platform.blockChat)).toEqual({ ...chat, blocked: true })
    expect(await codes()).toEqual(['BOT_BLOCKED', 'BOT_BLOCKED'])
    expect((await newChat(tenant, bot, { user_id: chat.user_id })).blocked).toBe(true)
    expect(await set(contract.platform.unblockChat)).toEqual(chat)
    expect(await codes()).toEqual([null, null])
  })

  it('block and unblock of a chat each create one bot update, even if repeated', { tags: 'chats/2' }, async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    for (const endpoint of [contract.platform.blockChat, contract.platform.blockChat] as const) {
      await tenant.operator(endpoint, { chatId: chat.id })
    }
    for (let n = 0; n < 2; n++) await tenant.operator(contract.platform.unblockChat, { chatId: chat.id })
    const changes = (await pollOf(bot)).map((it) => (it.type === 'my_chat_member' ? it.my_chat_member : undefined))
    expect(changes.map((it) => [it?.old_status, it?.new_status])).toEqual([
      ['left', 'member'],
      ['member', 'kicked'],
      ['kicked', 'member'],
    ])
  })
})

describe('update created by the operator', () => {
  const add = async (botId: string, type: 'friend_request' | 'inline_query' | 'ping', payload?: object) =>
    tenant.operator(contract.platform.addUpdate, {
      botId,
      type,
      ...(payload === undefined ? {} : { payload: payload as Record<string, unknown> }),
    })

  it('operator call that creates a bot update returns the same bytes as a poll of the bot', async () => {
    const bot = await tenant.bot()
    const responses = [
      await add(bot.id, 'ping'),
      await add(bot.id, 'ping', {}),
      await add(bot.id, 'friend_request', { from: { id: 'ann' } }),
      await add(bot.id, 'friend_request', { date: 7, from: { is_bot: false, id: 'ann' }, id: 'r1' }),
      await add(bot.id, 'inline_query', { query: '', from: { id: 'ann' } }),
      await add(bot.id, 'inline_query', { query: 'café 🎟', from: { id: 'ann' }, id: 'q1' }),
    ]
    const from = { id: 'ann', is_bot: false }
    const made = expect.stringMatching(/^[0-9a-f]{20}$/)
    const date = Math.floor(server.clock.now() / 1000)
    expect(responses.map(({ data }) => (data as Record<string, unknown>)[data.type])).toEqual([
      {},
      {},
      { id: made, from, date },
      { id: 'r1', from, date: 7 },
      { id: made, from, query: '' },
      { id: 'q1', from, query: 'café 🎟' },
    ])
    const texts = responses.map((it) => /"data":(.*),"requestId"/.exec(it.text)?.[1] as string)
    const polled = await bot.call(contract.bots.updates, {})
    expect(polled.text).toContain(`"data":{"items":[${texts.join(',')}]}`)
  })

  it.each([
    ['ping', { x: 1 }, '/payload/x'],
    ['friend_request', undefined, '/payload/from'],
    ['friend_request', { from: 'ann' }, '/payload/from'],
    ['friend_request', { from: { id: 'ann', name: 'Ann' } }, '/payload/from'],
    ['friend_request', { from: { id: 'ann', is_bot: true } }, '/payload/from'],
    ['friend_request', { from: { id: 'an n' } }, '/payload/from'],
    ['friend_request', { from: [] }, '/payload/from'],
    ['friend_request', { from: { id: 'ann' }, date: 1.5 }, '/payload/date'],
    ['friend_request', { from: { id: 'ann' }, date: -1 }, '/payload/date'],
    ['friend_request', { from: { id: 'ann' }, id: '' }, '/payload/id'],
    ['friend_request', { from: { id: 'ann' }, query: '' }, '/payload/query'],
    ['inline_query', { from: { id: 'ann' } }, '/payload/query'],
    ['inline_query', { query: 'x' }, '/payload/from'],
    ['inline_query', { from: { id: 'ann' }, query: 'x'.repeat(257) }, '/payload/query'],
    ['inline_query', { from: { id: 'ann' }, query: 1 }, '/payload/query'],
    ['inline_query', { from: { id: 'ann' }, query: 'x', date: 1 }, '/payload/date'],
    ['inline_query', { from: { id: 'ann' }, query: 'x', constructor: 1 }, '/payload/constructor'],
  ] as const)(
    'bot update %s created by the operator with payload %j is refused at %s',
    async (type, payload, pointer) => {
      const bot = await tenant.bot()
      const refused = await add(bot.id, type, payload)
      expect(refused.code).toBe('VALIDATION_FAILED')
      expect((refused.details.errors as { pointer: string }[]).map((it) => it.pointer)).toEqual([pointer])
      expect(await pollOf(bot)).toEqual([])
    },
  )

  it('inline query update accepts a query of 256 characters of four bytes each', async () => {
    const bot = await tenant.bot()
    expect((await add(bot.id, 'inline_query', { from: { id: 'ann' }, query: '🎟'.repeat(256) })).status).toBe(200)
  })

  it('operator can create a bot update only for an approved bot that allows its type', async () => {
    expect((await add('bot_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ping')).code).toBe('BOT_NOT_FOUND')
    expect((await add((await tenant.appliedBot()).id, 'ping')).code).toBe('BOT_NOT_APPROVED')
    const bot = await tenant.bot()
    await pollOf(bot, { allowed_updates: ['message'] })
    const unwanted = await add(bot.id, 'ping')
    expect([unwanted.code, unwanted.details]).toEqual(['BOT_STATE_CONFLICT', { allowed_updates: ['message'] }])
    await pollOf(bot, { allowed_updates: [] })
    expect((await add(bot.id, 'ping')).data.update_id).toBe(1)
  })
})
