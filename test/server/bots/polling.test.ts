import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { onPostgres } from '../../support/engine-name.js'
import { DAY_MS, type TestApp, testApp } from '../../support/server-app.js'
import { idsOf, newChat, type PollInput, pollOf, say } from '../../support/server-chats.js'
import { callerOf } from '../../support/server-client.js'
import { newTenant, type Tenant, type TestBot } from '../../support/server-tenant.js'
import { plantWebhook } from '../../support/server-webhooks.js'
import { WatchedPolls } from '../../support/watched-polls.js'

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
  for (let n = 0; n < count; n++) {
    expect((await tenant.operator(contract.platform.addUpdate, { botId: to.id, type: 'ping' })).status).toBe(200)
  }
}
const ids = async (input: PollInput = {}) => idsOf(await pollOf(bot, input))

describe('getUpdates', () => {
  it('answers items alone, lowest id first, and the same ones again until they are confirmed', async () => {
    await ping(3)
    const first = await getUpdates()
    expect(Object.keys(first.data)).toEqual(['items'])
    expect(idsOf(first.data.items)).toEqual([1, 2, 3])
    expect((await getUpdates()).sameness).toBe(first.sameness)
  })

  it('answers each update as it is stored, to the byte, and nothing between that would change it', async () => {
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
    const answer = await getUpdates()
    const requestId = answer.headers['x-request-id']
    expect(answer.text).toBe(`{"success":true,"data":{"items":[${texts.join(',')}]},"requestId":"${requestId}"}`)
    expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.text))
  })

  it('takes an empty body', async () => {
    await ping()
    const { path, method } = contract.bots.updates
    const answer = await server.send({ method, path, headers: { authorization: `Bearer ${bot.token}` } })
    expect(idsOf((answer.data as { items: [] }).items)).toEqual([1])
  })

  it('confirms everything below the offset, for good', async () => {
    await ping(5)
    expect(await ids({ offset: 3 })).toEqual([3, 4, 5])
    expect(await ids()).toEqual([3, 4, 5])
    expect(await ids({ offset: 1 })).toEqual([3, 4, 5])
    expect(await ids({ offset: 0 })).toEqual([3, 4, 5])
    expect(await ids({ offset: 6 })).toEqual([])
    await ping()
    expect(await ids()).toEqual([6])
  })

  it('answers at most limit, 100 unless told', async () => {
    await ping(101)
    expect(await ids({ limit: 2 })).toEqual([1, 2])
    expect((await ids()).length).toBe(100)
    expect(await ids({ offset: 101 })).toEqual([101])
  })

  it('with a negative offset keeps the last so many and confirms those before', async () => {
    await ping(5)
    expect(await ids({ offset: -6 })).toEqual([1, 2, 3, 4, 5])
    expect(await ids({ offset: -5 })).toEqual([1, 2, 3, 4, 5])
    expect(await ids({ offset: -2, limit: 1 })).toEqual([4])
    expect(await ids()).toEqual([4, 5])
    expect(await ids({ offset: -1_000_000_000_000 })).toEqual([4, 5])
    expect(await ids({ offset: -1 })).toEqual([5])
  })

  it('refuses an offset beyond the next update and confirms nothing then', async () => {
    const early = await getUpdates({ offset: 2 })
    expect([early.code, early.details]).toEqual(['OFFSET_IN_FUTURE', { next_offset: 1 }])
    expect(await ids({ offset: 1 })).toEqual([])
    await ping(2)
    const late = await getUpdates({ offset: 4, allowed_updates: ['message'] })
    expect([late.status, late.code, late.details]).toEqual([400, 'OFFSET_IN_FUTURE', { next_offset: 3 }])
    await ping()
    expect(await ids()).toEqual([1, 2, 3])
  })

  it('counts on where ids were confirmed: none is used again', async () => {
    await ping(2)
    await getUpdates({ offset: 3 })
    server.clock.advance(2 * DAY_MS)
    await ping()
    expect(await ids()).toEqual([3])
  })

  it('refuses what is out of range, unknown or of another type', async () => {
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

  it('of one bot never shows or confirms those of another', async () => {
    const other = await tenant.bot()
    await ping(2)
    await ping(1, other)
    expect(idsOf(await pollOf(other))).toEqual([1])
    await pollOf(other, { offset: 2 })
    expect(await ids()).toEqual([1, 2])
  })
})

describe('allowed_updates', () => {
  it('absent keeps what was set, [] resets to the default types', async () => {
    const kinds = async () => (await pollOf(bot)).map((it) => it.type)
    await getUpdates({ allowed_updates: ['message', 'message'] })
    const chat = await newChat(tenant, bot)
    await getUpdates()
    await say(tenant, chat, 'x')
    expect(await kinds()).toEqual(['message'])
    await getUpdates({ allowed_updates: [] })
    await ping()
    expect(await kinds()).toEqual(['message', 'ping'])
  })

  it('holds for updates made later: those that wait stay', async () => {
    await ping()
    expect(await ids({ allowed_updates: ['message'] })).toEqual([1])
  })

  it('makes no gap in the ids: an update that is not wanted uses none', async () => {
    await ping()
    await getUpdates({ allowed_updates: ['ping'] })
    await newChat(tenant, bot)
    await ping()
    expect(await ids()).toEqual([1, 2])
  })
})

describe('while a webhook is active', () => {
  it('getUpdates is refused, confirms nothing and chooses no types', async () => {
    await ping(2)
    await server.deps.store.write(() => plantWebhook(bot.id))
    const refused = await getUpdates({ offset: 3, allowed_updates: ['message'] })
    expect([refused.status, refused.code]).toEqual([409, 'WEBHOOK_ACTIVE'])
    expect((await getUpdates({ offset: 9 })).code).toBe('WEBHOOK_ACTIVE')
    await server.deps.store.write(function* () {
      yield { kind: 'run', sql: 'delete from webhooks', params: [] }
    })
    await ping()
    expect(await ids()).toEqual([1, 2, 3])
  })
})

describe('an update that nobody confirms', () => {
  it('is answered for 24 hours and not after, even before it is removed', async () => {
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

/** A server beside it on its store and polls; a write waits for the release where `waits` says so of its number. */
function slowServer(waits: (write: number) => boolean, input: PollInput = {}) {
  const { store } = server.deps
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let writes = 0
  const write: typeof store.write = (op) => (waits(++writes) ? released.then(() => store.write(op)) : store.write(op))
  const slow = testApp({ polls, store: { ...store, write } })
  const send = () => callerOf(slow.send, bot.token)(contract.bots.updates, input)
  return { send, release, close: () => slow.close() }
}

describe('a held call', () => {
  const hold = async (input: PollInput = {}, by: TestBot = bot) => {
    const answer = getUpdates({ timeout: 50, ...input }, by)
    return answer
  }

  it('is answered by the first update that comes, and by that alone', async () => {
    const held = hold()
    await polls.waits(1)
    await ping(1, await tenant.bot())
    await newChat(tenant, bot)
    expect(idsOf((await held).data.items)).toEqual([1])
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('answers at once when something waits already', async () => {
    await ping()
    expect(idsOf((await hold()).data.items)).toEqual([1])
  })

  it('has confirmed by its offset while it waits', async () => {
    await ping()
    const held = hold({ offset: 2 })
    await polls.waits(1)
    await ping()
    expect(idsOf((await held).data.items)).toEqual([2])
  })

  it('misses no update that comes between what it read and its wait', async () => {
    let came = 0
    polls.beforeWait = async () => {
      if (came++ === 0) await ping()
    }
    expect(idsOf((await hold()).data.items)).toEqual([1])
  })

  it('waits on when it was woken for nothing', async () => {
    const held = hold()
    await polls.waits(1)
    for (let n = 1; n <= 3; n++) {
      polls.changed(bot.id)
      await polls.waits(n + 1)
    }
    await ping()
    expect(idsOf((await held).data.items)).toEqual([1])
  })

  it('answers nothing when its time is over', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const held = hold({ timeout: 50 })
      let answered = false
      void held.then(() => {
        answered = true
      })
      await polls.waits(1)
      vi.advanceTimersByTime(49_999)
      polls.changed(bot.id)
      await polls.waits(2)
      expect(answered).toBe(false)
      vi.advanceTimersByTime(1)
      expect((await held).data).toEqual({ items: [] })
    } finally {
      vi.useRealTimers()
    }
  })

  it('keeps no transaction open: others write and read meanwhile', async () => {
    const held = hold()
    await polls.waits(1)
    await tenant.issue()
    expect((await tenant.console(contract.bots.list, {})).data.items).toHaveLength(1)
    await ping()
    await held
  })

  it('is ended by a newer one, which alone goes on', async () => {
    const older = hold()
    await polls.waits(1)
    const newer = hold()
    const ended = await older
    expect([ended.status, ended.code]).toEqual([409, 'POLL_TERMINATED'])
    await polls.waits(2)
    await ping()
    expect(idsOf((await newer).data.items)).toEqual([1])
  })

  it('is ended by a newer one also when it has found something, which waits for the newer one then', async () => {
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

  it('is ended by a newer one also when it comes to the database behind it', async () => {
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

  it('is not ended by the poll of another bot', async () => {
    const held = hold()
    await polls.waits(1)
    expect((await getUpdates({}, await tenant.bot())).status).toBe(200)
    await ping()
    expect((await held).status).toBe(200)
  })

  it('of 20 at once exactly one survives', async () => {
    const calls = Array.from({ length: 20 }, () => hold())
    await polls.ends(19)
    await polls.waits(1)
    await ping()
    const codes = (await Promise.all(calls)).map((it) => it.code)
    expect(codes.filter((code) => code === 'POLL_TERMINATED')).toHaveLength(19)
    expect(codes.filter((code) => code === null)).toHaveLength(1)
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('ends with 401 when its token is regenerated, and the new token polls', async () => {
    const held = hold()
    await polls.waits(1)
    const { one_time_token: token } = (await tenant.console(contract.bots.regenerateToken, { botId: bot.id })).data
    const ended = await held
    expect([ended.status, ended.code]).toEqual([401, 'TOKEN_REVOKED'])
    expect(ended.headers['www-authenticate']).toContain('invalid_token')
    const { method, path } = contract.bots.updates
    const again = await server.send({ method, path, headers: { authorization: `Bearer ${token}` } })
    expect(again.status).toBe(200)
  })

  it('shows no update to a token that was regenerated before the update came', async () => {
    let first = true
    polls.beforeWait = async () => {
      if (!first) return
      first = false
      await tenant.console(contract.bots.regenerateToken, { botId: bot.id })
      await ping()
    }
    expect((await hold()).code).toBe('TOKEN_REVOKED')
  })

  it('ends with 403 when the bot is disabled', async () => {
    const held = hold()
    await polls.waits(1)
    await tenant.operator(contract.platform.disableBot, { botId: bot.id })
    expect([(await held).status, (await held).code]).toEqual([403, 'BOT_DISABLED'])
  })

  it('ends with 409 when a webhook was set meanwhile', async () => {
    const held = hold()
    await polls.waits(1)
    await server.deps.store.write(() => plantWebhook(bot.id))
    expect([(await held).status, (await held).code]).toEqual([409, 'WEBHOOK_ACTIVE'])
  })

  it('does not answer what has expired while it waited', async () => {
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

  it('is open to others as long as it waits, and no longer', async () => {
    const held = hold()
    await polls.waits(1)
    expect(polls.isOpen(bot.id)).toBe(true)
    await ping()
    await held
    expect(polls.isOpen(bot.id)).toBe(false)
  })
})
