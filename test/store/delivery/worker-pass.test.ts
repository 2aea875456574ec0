import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LEASE_MS } from '../../../src/domain/delivery.js'
import { UNCONFIRMED_UPDATE_RETENTION_MS } from '../../../src/domain/update.js'
import type { Attempt } from '../../../src/store/delivery/attempt-results.js'
import { BACKLOG_ROWS_PER_WRITE } from '../../../src/store/delivery/backlog.js'
import { endLateness } from '../../../src/store/delivery/claims.js'
import { botsWithWork } from '../../../src/store/delivery/worker-pass.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'
import { planOf, statementsOf } from '../../support/store/store-steps.js'
import { ended, failure, NOW, SYSTEM_NOW, success, WorkerPasses } from '../../support/webhook/worker-passes.js'

let passes: WorkerPasses
beforeEach(() => {
  passes = new WorkerPasses(openTestStore())
})
afterEach(() => passes.store.close())

const updateIds = ({ begun }: { readonly begun: readonly Attempt[] }) => begun.map((it) => it.updateId)
const numberedChats = (count: number) => Array.from({ length: count }, (_, index) => `chat ${index + 1}`)
const bots = (...entries: [string, string | null][]) => new Map(entries)
const RETENTION = UNCONFIRMED_UPDATE_RETENTION_MS

describe('claim of a delivery', () => {
  it('claim stores a lease by the system clock, and returns its attempt', { tags: 'test-clock/2' }, async () => {
    await passes.plant('bot_1', ['a'])
    const result = await passes.run()
    const leaseUntil = SYSTEM_NOW + LEASE_MS
    expect(result).toEqual({
      begun: [
        {
          deliveryId: 'bot_1 1',
          accountId: 'acc',
          botId: 'bot_1',
          updateId: 1,
          chatKey: 'a',
          manual: false,
          wasPostponed: false,
          claimed: expect.objectContaining({
            status: 'delivering',
            lease_until: leaseUntil,
            next_attempt_at: null,
            attempt_count: 0,
          }),
          leaseUntil,
          startedAt: NOW,
          body: '{}',
          webhook: expect.objectContaining({ bot_id: 'bot_1', origin: 'https://hook.example' }),
        },
      ],
      waiting: new Map(),
      unfinished: [],
      moreLost: false,
      hasPostponed: false,
      nextDueAt: null,
    })
    const claimed = { status: 'delivering', ready: 0, lease_until: leaseUntil, last_attempt_at: NOW }
    expect(await passes.deliveries()).toMatchObject([{ ...claimed, next_attempt_at: null }])
  })

  it('manual retry is claimed as manual and keeps the time of the next scheduled attempt', async () => {
    await passes.plant('bot_1', ['a'])
    await passes.sql(`update deliveries set resume_status = 'failed', next_attempt_at = 77`)
    expect(await passes.claim()).toMatchObject({ manual: true, claimed: { next_attempt_at: 77 } })
    expect(await passes.deliveries()).toMatchObject([{ status: 'delivering', next_attempt_at: 77 }])
  })

  it('claim takes one delivery per chat, lowest update id first, and none of a chat in flight', async () => {
    await passes.plant('bot_1', ['b', 'b', 'a', 'c', 'c'])
    await passes.sql(`update deliveries set status = 'delivering', ready = 0, lease_until = 1 where update_id = 4`)
    expect(updateIds(await passes.run())).toEqual([1, 3])
  })

  it('bot that is disabled or has no webhook gets no attempt and does not wait', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, ['a'])
    await passes.sql(`update bots set status = 'disabled' where id = 'bot_1'`)
    await passes.sql(`delete from webhooks where bot_id = 'bot_2'`)
    const result = await passes.run({ bots: bots(['bot_1', null], ['bot_2', null]) })
    expect(result).toMatchObject({ begun: [], waiting: new Map(), unfinished: [] })
  })

  it('claim and search skip rows that another process has locked', async () => {
    await passes.plant('bot_1', ['a'])
    const steps = await passes.steps({ lostBefore: 0, room: 1 })
    const locks = steps.flatMap(statementsOf).flatMap(({ lock }) => lock ?? [])
    expect(locks).toEqual(['skip', 'skip', 'skip', { skipOf: 'w' }, 'skip'])
  })
})

describe('connections of a webhook', () => {
  it('bot uses at most the connections of its webhook, including those in use, and does not wait', async () => {
    await passes.plant('bot_1', numberedChats(5))
    await passes.sql('update webhooks set max_connections = 3')
    await passes.sql(`update deliveries set status = 'delivering', ready = 0, lease_until = 1 where update_id = 2`)
    const result = await passes.run()
    expect([updateIds(result), result.waiting]).toEqual([[1, 3], new Map()])
  })

  it('bot whose share of slots equals its connections does not wait for a slot', async () => {
    await passes.plant('bot_1', numberedChats(3))
    await passes.sql('update webhooks set max_connections = 2')
    const result = await passes.run({ room: 8 })
    expect([updateIds(result), result.waiting]).toEqual([[1, 2], new Map()])
  })

  it('failing endpoint gets one delivery at a time', { tags: 'delivery-order/1' }, async () => {
    await passes.plant('bot_1', ['a', 'b'])
    await passes.sql('update webhooks set failing = 1')
    expect(updateIds(await passes.run())).toEqual([1])
    expect(updateIds(await passes.run())).toEqual([])
  })
})

describe('slots of an account', () => {
  it('delivery of a bot with a known account is claimed while a slot is free', async () => {
    await passes.plant('bot_1', ['a'])
    expect(updateIds(await passes.run({ bots: bots(['bot_1', 'acc']), room: 1 }))).toEqual([1])
  })

  it('bots of one account share its slots, and those without a slot wait', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, numberedChats(10))
    const result = await passes.run({
      bots: bots(['bot_1', null], ['bot_2', null]),
      held: new Map([['acc', 1]]),
      room: 20,
    })
    expect(result.begun.map((it) => [it.botId, it.updateId])).toEqual([1, 2, 3, 4].map((id) => ['bot_1', id]))
    expect(result.waiting).toEqual(bots(['bot_1', 'acc'], ['bot_2', 'acc']))
  })

  it('account without an attempt in flight gets a slot beside an account that uses its share', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, numberedChats(2))
    await passes.sql(`update bots set account_id = 'other' where id = 'bot_2'`)
    const result = await passes.run({ bots: bots(['bot_1', null], ['bot_2', null]), room: 2 })
    expect(result.begun.map((it) => [it.botId, it.accountId])).toEqual([
      ['bot_1', 'acc'],
      ['bot_2', 'other'],
    ])
  })

  it('bot without a free slot waits, and its webhook is not read', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, ['a'])
    const both = bots(['bot_1', null], ['bot_2', 'acc'])
    expect(await passes.steps({ bots: both, room: 0 })).toHaveLength(2)
    expect((await passes.run({ bots: both, room: 0 })).waiting).toEqual(both)
    const withoutShare = { bots: bots(['bot_2', 'acc']), room: 8, held: new Map([['acc', 5]]) }
    expect(await passes.steps(withoutShare)).toHaveLength(2)
    expect((await passes.run(withoutShare)).waiting).toEqual(withoutShare.bots)
  })

  it('bot of an unknown account waits after a read of its webhook if the account has no share', async () => {
    await passes.plant('bot_1', ['a'])
    const withoutShare = { room: 8, held: new Map([['acc', 5]]) }
    expect(await passes.steps(withoutShare)).toHaveLength(3)
    expect(await passes.run(withoutShare)).toMatchObject({ begun: [], waiting: bots(['bot_1', 'acc']) })
  })

  it('bot waits for a slot that an earlier bot of the pass has taken', async () => {
    for (const botId of ['bot_1', 'bot_2']) await passes.plant(botId, ['a'])
    const result = await passes.run({ bots: bots(['bot_1', null], ['bot_2', null]), room: 1 })
    expect(result.waiting).toEqual(bots(['bot_1', 'acc'], ['bot_2', null]))
  })
})

describe('expired update', () => {
  it('update without an attempt is sent for 24 hours, then its delivery is cancelled', async () => {
    await passes.plant('bot_1', ['a', 'b', 'c'])
    await passes.sql(`update updates set created_at = ${NOW - RETENTION} where update_id <> 2`)
    await passes.sql(`update updates set created_at = ${NOW - RETENTION + 1} where update_id = 2`)
    await passes.sql(`update deliveries set last_attempt_at = 1 where update_id = 3`)
    expect(updateIds(await passes.run())).toEqual([2, 3])
    const cancelled = { status: 'cancelled', cancel_reason: 'expired', ready: 0, next_attempt_at: null }
    expect((await passes.deliveries())[0]).toMatchObject(cancelled)
    expect((await passes.updates()).map((it) => [it.pending, it.body])).toEqual([
      [0, ''],
      [1, '{}'],
      [1, '{}'],
    ])
  })

  it('attempted delivery is cancelled if its update was deleted or has no body', async () => {
    await passes.plant('bot_1', ['a', 'b'])
    await passes.sql('update deliveries set last_attempt_at = 1')
    await passes.sql('delete from updates where update_id = 1')
    await passes.sql(`update updates set body = '' where update_id = 2`)
    expect(updateIds(await passes.run())).toEqual([])
    expect((await passes.deliveries()).map((it) => it.cancel_reason)).toEqual(['expired', 'expired'])
  })

  it('slot of an expired delivery goes to a chat without an attempt', async () => {
    await passes.plant('bot_1', ['a', 'b', 'a', 'c'])
    await passes.sql('update webhooks set max_connections = 2')
    await passes.sql('update updates set created_at = 0 where update_id = 2')
    expect(updateIds(await passes.run())).toEqual([1, 4])
  })

  it('pass leaves a bot unfinished once it has cancelled its maximum of expired deliveries', async () => {
    await passes.plant('bot_1', numberedChats(BACKLOG_ROWS_PER_WRITE + 1))
    await passes.plant('bot_2', numberedChats(BACKLOG_ROWS_PER_WRITE))
    const last = `bot_id = 'bot_1' and update_id > ${BACKLOG_ROWS_PER_WRITE} or bot_id = 'bot_2' and update_id = 1`
    await passes.sql(`update updates set created_at = 0 where not (${last})`)
    const result = await passes.run({ bots: bots(['bot_1', null], ['bot_2', null]) })
    expect(result.unfinished).toEqual(['bot_1'])
    expect(result.begun.map((it) => [it.botId, it.updateId])).toEqual([['bot_2', 1]])
  })
})

describe('backlogs of chats', () => {
  it('update behind the backlog of a busy chat precedes a later update of a chat with a lower id', async () => {
    await passes.plant('bot_1', ['a', 'a', 'a', 'a', 'z', 'y', 'b'])
    await passes.sql('update webhooks set max_connections = 3')
    await passes.sql(`update deliveries set status = 'delivering', ready = 0, lease_until = 1 where update_id = 1`)
    expect(updateIds(await passes.run())).toEqual([5, 6])
  })

  it('long backlog of one chat does not block other chats', async () => {
    await passes.plant('bot_1', ['a', 'a', 'a', 'a', 'a', 'a', 'c', 'b', 'z'])
    await passes.sql('update webhooks set max_connections = 3')
    expect(updateIds(await passes.run())).toEqual([1, 7, 8])
  })

  it.each([
    [['a', 'a', 'a', 'a', 'b'], 1],
    [['a', 'a'], 0],
    [['a', 'b', 'c', 'd'], 0],
  ])(
    'claim for 2 connections from deliveries of the chats %j reads chats one by one %i times',
    async (chats, times) => {
      await passes.plant('bot_1', chats)
      await passes.sql('update webhooks set max_connections = 2')
      const statements = (await passes.steps()).flatMap(statementsOf)
      expect(statements.filter(({ sql }) => sql.includes('recursive'))).toHaveLength(times)
    },
  )
})

describe('due deliveries', () => {
  it('failed delivery is claimed when it is due, also of a bot that the pass need not serve', async () => {
    await passes.plant('bot_1', ['a', 'b', 'c'])
    await passes.sql(`update deliveries set status = 'failed', ready = 0, next_attempt_at = ${NOW} + update_id - 1`)
    const result = await passes.run({ bots: new Map() })
    expect([updateIds(result), result.nextDueAt]).toEqual([[1], NOW + 1])
  })

  it('bots with work are those with a delivery that waits for a slot', async () => {
    for (const botId of ['bot_1', 'bot_2', 'bot_3']) await passes.plant(botId, ['a', 'b'])
    await passes.sql(`update deliveries set ready = 0 where bot_id = 'bot_2'`)
    expect(await passes.store.read(botsWithWork)).toEqual(['bot_1', 'bot_3'])
  })
})

describe('late deliveries', () => {
  const LATE_MS = 10_000
  /** Keys of updates without a chat. */
  const withoutChat = (count: number) => Array.from({ length: count }, (_, index) => `update ${index + 1}`)

  /** Claims a delivery of each chat, and postpones all but the last one. Returns the attempts. */
  async function postponeFirst(chats: readonly string[]) {
    await passes.plant('bot_1', chats)
    await passes.sql('update webhooks set max_connections = 10000')
    const { begun } = await passes.run({ room: 100_000 })
    const result = await passes.run({ postponed: begun.slice(0, -1) })
    expect(result.hasPostponed).toBe(true)
    return begun
  }
  const ends = ({ sql }: { readonly sql: string }) => sql.includes('next_attempt_at > $5')
  const dueAt = async (updateId: number) => (await passes.deliveries())[updateId - 1]?.next_attempt_at

  it('postponed claim is given back without an attempt, and claimed again when it is due', async () => {
    const [late] = await postponeFirst(['a', 'b'])
    expect((await passes.deliveries())[0]).toMatchObject({
      ...{ status: 'failed', ready: 0, lease_until: null, attempt_count: 0, last_attempt_at: null },
      ...{ next_attempt_at: NOW + LATE_MS, last_error_code: 'postponed' },
    })
    expect(await passes.attempts()).toEqual([])
    const result = await passes.run({ now: NOW + LATE_MS })
    expect(result).toMatchObject({ begun: [{ deliveryId: late?.deliveryId, wasPostponed: true }], hasPostponed: false })
  })

  it('claim that is not in effect is not postponed', async () => {
    await passes.plant('bot_1', ['a'])
    const claim = await passes.claim()
    await passes.sql('update deliveries set lease_until = lease_until + 1')
    expect((await passes.run({ postponed: [claim] })).hasPostponed).toBe(false)
    expect(await passes.deliveries()).toMatchObject([{ status: 'delivering' }])
  })

  it('chat of a postponed delivery is served in the same pass, also of a bot not to be served', async () => {
    await passes.plant('bot_1', ['a', 'a'])
    const claim = await passes.claim()
    expect(updateIds(await passes.run({ bots: new Map(), postponed: [claim] }))).toEqual([2])
  })

  it('one statement makes 1,000 deliveries without a chat due', async () => {
    const attempts = await postponeFirst(withoutChat(1_001))
    const last = ended(attempts.at(-1) as Attempt, success)
    const steps = await passes.steps({ ended: [last], hasPostponed: true, room: 0 })
    expect(steps.flatMap(statementsOf).filter(ends)).toHaveLength(1)
    const due = (await passes.deliveries()).filter((it) => it.last_error_code === 'postponed')
    expect([due.length, new Set(due.map((it) => it.next_attempt_at))]).toEqual([1_000, new Set([NOW])])
  })

  it('an answered update concerns earlier ones of its chat, or of its bot without a chat', async () => {
    await passes.plant('bot_2', ['a', 'update 2'])
    const attempts = await postponeFirst(['a', 'b', 'update 3', 'c', 'update 5', 'd'])
    await passes.plant('bot_3', ['a'])
    const answered = (updateId: number, chatKey: string) =>
      ended({ ...(attempts[0] as Attempt), deliveryId: 'other', updateId, chatKey }, failure)
    const run = (...them: ReturnType<typeof answered>[]) =>
      passes.run({ ended: them, hasPostponed: true, bots: bots() })
    await run(answered(9, 'b'), answered(1, 'a'), answered(4, 'update 4'))
    expect([await dueAt(1), await dueAt(2), await dueAt(3)]).toEqual([NOW + LATE_MS, NOW, NOW])
    expect([await dueAt(4), await dueAt(5)]).toEqual([NOW + LATE_MS, NOW + LATE_MS])
    await run(ended({ ...answered(9, 'c').attempt } as Attempt, { ...failure, statusCode: null }))
    expect(await dueAt(4)).toBe(NOW + LATE_MS)
  })

  it.skipIf(onPostgres)('search for postponed deliveries reads only their index', async () => {
    const last = (await postponeFirst(['a', 'b'])).at(-1)
    const plan = await planOf(passes.store, () => endLateness([ended(last as Attempt, success)], NOW))
    expect(plan).toEqual([
      expect.stringContaining('USING INDEX deliveries_postponed (bot_id=? AND chat_key>? AND chat_key<?)'),
    ])
  })
})
