import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { DAY_MS, type TestApp, testApp } from '../../support/server/app.js'
import { idsOf, newChat, type PollInput, pollOf } from '../../support/server/chats.js'
import { callerOf } from '../../support/server/client.js'
import { newTenant, type Tenant, type TestBot } from '../../support/server/tenant.js'
import { WatchedPolls } from '../../support/server/watched-polls.js'
import { plantWebhook } from '../../support/server/webhooks.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { holdWrites } from '../../support/store/held-writes.js'

let polls: WatchedPolls
let server: TestApp
let tenant: Tenant
let bot: TestBot
beforeEach(async () => {
  polls = new WatchedPolls({ across: onPostgres })
  server = testApp({ polls })
  tenant = await newTenant(server)
  bot = await tenant.bot()
})
afterEach(() => server.close())

const getUpdates = (input: PollInput = {}, by: TestBot = bot) => by.call(contract.bots.updates, input)
const ping = async (count = 1, to: TestBot = bot) => {
  const add = () => tenant.operator(contract.platform.addUpdate, { botId: to.id, type: 'ping' })
  // Concurrent calls share transactions.
  const added = await Promise.all(Array.from({ length: count }, add))
  expect(added.filter(({ status }) => status !== 200)).toEqual([])
}
const ids = async (input: PollInput = {}) => idsOf(await pollOf(bot, input))

describe('getUpdates', () => {
  it('getUpdates returns each update byte for byte as stored', { tags: 'updates/1' }, async () => {
    const texts = [
      '{ "update_id" : 1.0, "type":"ping","__proto__":{"x":1},"10":1,"9":2 }',
      '{"update_id":2,"text":"\u2028\u2029 🎟 e\u0301 \\ud800 \\u0041 \\/","n":1e2,"n":-0}',
    ]
    await ping(2)
    for (const [index, text] of texts.entries()) {
      await server.deps.store.write(function* () {
        const sql = 'update updates set body = $2 where update_id = $1'
        yield { kind: 'run', sql, params: [index + 1, text] }
      })
    }
    const response = await getUpdates()
    const requestId = response.headers['x-request-id']
    expect(response.text).toBe(`{"success":true,"data":{"items":[${texts.join(',')}]},"requestId":"${requestId}"}`)
    expect(Number(response.headers['content-length'])).toBe(Buffer.byteLength(response.text))
  })

  it('getUpdates returns at most limit updates, 100 by default', async () => {
    await ping(101)
    expect(await ids({ limit: 2 })).toEqual([1, 2])
    expect((await ids()).length).toBe(100)
    expect(await ids({ offset: 101 })).toEqual([101])
  })

  it('getUpdates with offset -n returns the last n updates, confirms earlier ones', { tags: 'polling/2' }, async () => {
    await ping(5)
    expect(await ids({ offset: -6 })).toEqual([1, 2, 3, 4, 5])
    expect(await ids({ offset: -5 })).toEqual([1, 2, 3, 4, 5])
    expect(await ids({ offset: -2, limit: 1 })).toEqual([4])
    expect(await ids()).toEqual([4, 5])
    expect(await ids({ offset: -1_000_000_000_000 })).toEqual([4, 5])
    expect(await ids({ offset: -1 })).toEqual([5])
  })

  it('update ids continue after confirmed updates expire', { tags: 'updates/1' }, async () => {
    await ping(2)
    await getUpdates({ offset: 3 })
    server.clock.advance(2 * DAY_MS)
    await ping()
    expect(await ids()).toEqual([3])
  })

  it('getUpdates refuses out-of-range, unknown and mistyped members', { tags: 'polling/2' }, async () => {
    const wrong = [
      { limit: 0 },
      { limit: 101 },
      { timeout: 51 },
      { timeout: -1 },
      { timeout: 0.5 },
      { offset: '1' },
      { offset: 1.5 },
      { allowed_updates: ['poll'] },
      { allowed_updates: 'message' },
      { ofset: 1 },
    ]
    for (const input of wrong) {
      expect([input, (await getUpdates(input as PollInput)).code]).toEqual([input, 'VALIDATION_FAILED'])
    }
  })

  it('getUpdates never returns or confirms updates of another bot', async () => {
    const other = await tenant.bot()
    await ping(2)
    await ping(1, other)
    expect(idsOf(await pollOf(other))).toEqual([1])
    await pollOf(other, { offset: 2 })
    expect(await ids()).toEqual([1, 2])
  })
})

describe('allowed_updates', () => {
  it('updates of types outside allowed_updates use no update id', { tags: 'update-types/1' }, async () => {
    await ping()
    await getUpdates({ allowed_updates: ['ping'] })
    await newChat(tenant, bot)
    await ping()
    expect(await ids()).toEqual([1, 2])
  })
})

describe('unconfirmed update', () => {
  it('unconfirmed update is returned for exactly 24 hours, deleted or not', { tags: 'updates/2' }, async () => {
    await ping()
    server.clock.advance(DAY_MS - 1)
    await ping()
    expect(await ids()).toEqual([1, 2])
    server.clock.advance(1)
    expect(await ids()).toEqual([2])
    expect(await ids({ offset: -2 })).toEqual([2])
    server.clock.advance(DAY_MS)
    expect(await ids()).toEqual([])
  })
})

/** A second server on the same store and polls. Its write number n waits for `release` if `waits(n)` is true. */
function slowServer(waits: (write: number) => boolean, input: PollInput = {}) {
  const { store, release } = holdWrites(server.deps.store, waits)
  const slow = testApp({ polls, store })
  const send = () => callerOf(slow.send, bot.token)(contract.bots.updates, input)
  return { send, release, close: () => slow.close() }
}

describe('held poll', () => {
  const hold = async (input: PollInput = {}, by: TestBot = bot) => {
    const response = getUpdates({ timeout: 50, ...input }, by)
    return response
  }

  it('held poll returns the first update of its own bot', async () => {
    const held = hold()
    await polls.waits(1)
    await ping(1, await tenant.bot())
    await newChat(tenant, bot)
    expect(idsOf((await held).data.items)).toEqual([1])
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('held poll returns immediately if an update is waiting', async () => {
    await ping()
    expect(idsOf((await hold()).data.items)).toEqual([1])
  })

  it('held poll confirms updates below its offset before it starts to wait', async () => {
    await ping()
    const held = hold({ offset: 2 })
    await polls.waits(1)
    await ping()
    expect(idsOf((await held).data.items)).toEqual([2])
  })

  it('held poll returns an update that is added between its read and its wait', async () => {
    let came = 0
    polls.beforeWait = async () => {
      if (came++ === 0) await ping()
    }
    expect(idsOf((await hold()).data.items)).toEqual([1])
  })

  it('held poll keeps waiting after a notification without an update', async () => {
    const held = hold()
    await polls.waits(1)
    for (let n = 1; n <= 3; n++) {
      polls.changed(bot.id)
      await polls.waits(n + 1)
    }
    await ping()
    expect(idsOf((await held).data.items)).toEqual([1])
  })

  it('held poll returns no items after its timeout', { tags: 'polling/2' }, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const held = hold({ timeout: 50 })
      let hasResponse = false
      void held.then(() => {
        hasResponse = true
      })
      await polls.waits(1)
      vi.advanceTimersByTime(49_999)
      polls.changed(bot.id)
      await polls.waits(2)
      expect(hasResponse).toBe(false)
      vi.advanceTimersByTime(1)
      expect((await held).data).toEqual({ items: [] })
    } finally {
      vi.useRealTimers()
    }
  })

  it('held poll keeps no database transaction open', async () => {
    const held = hold()
    await polls.waits(1)
    await tenant.issue()
    expect((await tenant.console(contract.bots.list, {})).data.items).toHaveLength(1)
    await ping()
    await held
  })

  it('poll that has read an update ends with 409 for a newer poll, which returns the update', async () => {
    await ping()
    const { send, release, close } = slowServer(() => true)
    const older = send()
    await polls.opens(1)
    const newer = send()
    await polls.opens(2)
    release()
    expect((await older).code).toBe('POLL_TERMINATED')
    expect((await newer).text).toContain('"update_id":1')
    await close()
  })

  it('older of two polls ends with 409 even if it reaches the database after the newer one', async () => {
    const { send, release, close } = slowServer((write) => write === 1, { timeout: 50 })
    const older = send()
    await polls.opens(1)
    const newer = send()
    await polls.waits(1)
    release()
    expect((await older).code).toBe('POLL_TERMINATED')
    await ping()
    expect((await newer).text).toContain('"update_id":1')
    await close()
  })

  it('held poll continues when another bot polls', async () => {
    const held = hold()
    await polls.waits(1)
    expect((await getUpdates({}, await tenant.bot())).status).toBe(200)
    await ping()
    expect((await held).status).toBe(200)
  })

  it('19 of 20 concurrent polls of a bot end with 409, and one is held', { tags: 'polling/3' }, async () => {
    const calls = Array.from({ length: 20 }, () => hold())
    await polls.ends(19)
    await polls.waits(1)
    await ping()
    const codes = (await Promise.all(calls)).map((it) => it.code)
    expect(codes.filter((code) => code === 'POLL_TERMINATED')).toHaveLength(19)
    expect(codes.filter((code) => code === null)).toHaveLength(1)
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('held poll returns no update that is created after a new bot token', { tags: 'bot-records/5' }, async () => {
    let first = true
    polls.beforeWait = async () => {
      if (!first) return
      first = false
      await tenant.console(contract.bots.regenerateToken, { botId: bot.id })
      await ping()
    }
    expect((await hold()).code).toBe('TOKEN_REVOKED')
  })

  it('held poll ends with 403 when the bot is disabled', async () => {
    const held = hold()
    await polls.waits(1)
    await tenant.operator(contract.platform.disableBot, { botId: bot.id })
    expect(await held).toMatchObject({ status: 403, code: 'BOT_DISABLED', details: { bot_id: bot.id } })
  })

  it('held poll ends with 409 when a webhook is set', { tags: ['polling/1', 'polling/3'] }, async () => {
    const held = hold()
    await polls.waits(1)
    await server.deps.store.write(() => plantWebhook(bot.id))
    expect(await held).toMatchObject({ status: 409, code: 'WEBHOOK_ACTIVE', details: { bot_id: bot.id } })
    expect(await hold()).toMatchObject({ code: 'WEBHOOK_ACTIVE', details: { bot_id: bot.id } })
  })

  it('held poll does not return an update that expired while it waited', async () => {
    const held = hold()
    await polls.waits(1)
    polls.beforeWait = async () => {}
    await ping()
    expect(idsOf((await held).data.items)).toEqual([1])
    server.clock.advance(DAY_MS)
    const next = hold()
    await polls.waits(2)
    await ping()
    expect(idsOf((await next).data.items)).toEqual([2])
  })

  it('poll counts as open exactly while it waits', async () => {
    const held = hold()
    await polls.waits(1)
    expect(polls.isOpen(bot.id)).toBe(true)
    await ping()
    await held
    expect(polls.isOpen(bot.id)).toBe(false)
  })
})
