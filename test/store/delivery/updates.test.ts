import { beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryRow, UpdateRow } from '../../../src/domain/bot/rows.js'
import { deleteOldUpdates, firstOfLast, poll, recheckPoll } from '../../../src/store/delivery/updates.js'
import { all, run } from '../../../src/store/operation.js'
import { addUpdate } from '../../../src/store/outbox.js'
import type { Store } from '../../../src/store/store.js'
import { DAY_MS, START_MS } from '../../support/server/app.js'
import { plantBot, plantUpdates, plantWebhook } from '../../support/server/webhooks.js'
import { beforeEachStore, engines } from '../../support/store/engines.js'
import { locksOf, stepsOf } from '../../support/store/store-steps.js'

let store: Store
let made = 0

const BOT = 'bot_1'

const add = (payload: object = {}, now = START_MS) =>
  store.write(() =>
    addUpdate({ botId: BOT, type: 'ping', chatId: null, payload, now, newDeliveryId: () => `dlv_${++made}` }),
  )
const polled = async (now = START_MS, offset?: number) => {
  const found = await store.write(() => poll({ botId: BOT, offset, limit: 100, now }))
  if ('ok' in found) throw new Error(found.code)
  if ('after' in found) throw new Error(`nothing up to ${found.after}`)
  return found
}
const idsOf = (bodies: readonly string[]) => bodies.map((body) => (JSON.parse(body) as { update_id: number }).update_id)
const updates = () => store.read(() => all<UpdateRow>('select * from updates order by update_id'))
const deliveries = () => store.read(() => all<DeliveryRow>('select * from deliveries order by update_id'))
const write = (sql: string) => store.write(() => run(sql))
const unsetWebhook = () => write('delete from webhooks')

describe.each(engines)('$name', ({ create, hasOneWriter }) => {
  beforeEachStore(create, (opened) => {
    store = opened
  })
  beforeEach(() => store.write(() => plantBot(BOT)))

  describe('update body', () => {
    it('update body is stored unchanged, whatever characters it contains', async () => {
      const odd = [
        '{"__proto__":1,"constructor":{"prototype":2}}',
        '{"b":1,"10":2,"9":3,"a":{"1":{"0":[]}}}',
        '{"text":"🎟 \\u2028\\u2029\\u0000\\u007f é e\\u0301 \\ud800"}',
        '{"":"","</script>":"<!--","x":"\\u0022\\\\"}',
        '{"n":[0,-0,1e21,5e-324,123456789012345680000,0.1,null,true]}',
      ]
      for (const text of odd) await add(JSON.parse(text) as object)
      const stored = (await updates()).map((it) => it.body)
      expect(await polled()).toEqual(stored)
      for (const [index, body] of stored.entries()) {
        expect(JSON.stringify(JSON.parse(body).ping)).toBe(JSON.stringify(JSON.parse(odd[index] as string)))
      }
    })
  })

  describe('confirmation of updates', () => {
    it('confirmed update loses its body unless a delivery may send it again', async () => {
      await store.write(() => plantWebhook(BOT))
      await add()
      await add()
      await write(`update deliveries set status = 'cancelled', ready = 0`)
      await write('update deliveries set last_attempt_at = 1 where update_id = 1')
      await unsetWebhook()
      expect(idsOf(await polled(START_MS, 3))).toEqual([])
      expect((await updates()).map((it) => [it.pending, it.body === ''])).toEqual([
        [0, false],
        [0, true],
      ])
    })
  })

  describe('poll', () => {
    const pollOf = (offset: number) => () => poll({ botId: BOT, offset, limit: 100, now: START_MS })

    it('poll that confirms nothing and changes no setting only reads: queue, webhook, updates', async () => {
      await add()
      for (const offset of [0, 1]) {
        expect((await stepsOf(store, pollOf(offset))).map(({ kind }) => kind)).toEqual(['one', 'one', 'all'])
      }
      expect(await store.write(pollOf(2))).toEqual([])
    })

    it('poll reads past 1,000 expired updates in further operations', async () => {
      await store.write(() => plantUpdates(BOT, 1_000, START_MS - DAY_MS))
      expect(await store.write(pollOf(0))).toEqual({ after: 1_000 })
      await add()
      const call = { botId: BOT, scope: 'messages:receive', limit: 100, now: START_MS } as const
      const recheck = (after?: number) =>
        store.read(() => recheckPoll({ ...call, tokenId: 'hash', ...(after === undefined ? {} : { after }) }))
      expect(await recheck()).toMatchObject({ code: 'TOKEN_INVALID' })
      await write(`insert into bot_tokens (token_hash, bot_id, created_at) values ('hash', '${BOT}', 0)`)
      expect(await recheck()).toEqual({ after: 1_000 })
      expect(idsOf((await recheck(1_000)) as readonly string[])).toEqual([1_001])
    })

    it('search for the last updates reads past 1,000 expired updates in further operations', async () => {
      await add()
      await store.write(() => plantUpdates(BOT, 1_000, START_MS - DAY_MS))
      const last = (missing: number, before: number) => () => firstOfLast(BOT, { missing, before }, START_MS)
      expect(await store.read(last(1, 9_999))).toEqual({ missing: 1, before: 2 })
      expect(await store.read(last(1, 2))).toBe(1)
      expect(await store.read(last(2, 2))).toBe(0)
    })
  })

  describe('updates after 24 hours', () => {
    it('unconfirmed update is deleted after exactly 24 hours, and its id is not used again', async () => {
      await add({}, START_MS)
      await add({}, START_MS + 1)
      expect(await store.write(() => deleteOldUpdates(START_MS + DAY_MS - 1, 100))).toBe(0)
      expect(await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 100))).toBe(1)
      expect((await updates()).map((it) => it.update_id)).toEqual([2])
      await store.write(() => deleteOldUpdates(START_MS + DAY_MS + 1, 100))
      expect(await updates()).toEqual([])
      expect(idsOf([(await add()) ?? ''])).toEqual([3])
    })

    it('confirmed update is deleted after 24 hours', async () => {
      await add()
      await add()
      await polled(START_MS, 2)
      await polled(START_MS, 3)
      expect(await store.write(() => deleteOldUpdates(START_MS + DAY_MS - 1, 100))).toBe(0)
      expect((await updates()).length).toBe(2)
      expect(await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 100))).toBe(2)
      expect(await updates()).toEqual([])
    })

    it('delivery without an attempt expires 24 hours after its update', { tags: 'deliveries/2' }, async () => {
      await store.write(() => plantWebhook(BOT))
      await add()
      await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 100))
      expect(await updates()).toEqual([])
      expect(await deliveries()).toMatchObject([
        { update_id: 1, status: 'cancelled', cancel_reason: 'expired', ready: 0, next_attempt_at: null },
      ])
    })

    it('update of an attempted or running delivery is kept after 24 hours', async () => {
      await store.write(() => plantWebhook(BOT))
      for (let n = 0; n < 3; n++) await add()
      await write(`update deliveries set status = 'failed', attempt_count = 1, last_attempt_at = 1 where update_id = 1`)
      await write(`update deliveries set status = 'delivering' where update_id = 2`)
      await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 100))
      expect((await updates()).map((it) => it.update_id)).toEqual([1, 2])
      expect((await deliveries()).map((it) => it.status)).toEqual(['failed', 'delivering', 'cancelled'])
      await unsetWebhook()
      expect(idsOf(await polled(START_MS + DAY_MS))).toEqual([1, 2])
    })

    it('cancelled delivery keeps its cancel reason after 24 hours', async () => {
      await store.write(() => plantWebhook(BOT))
      await add()
      await write(`update deliveries set status = 'cancelled', cancel_reason = 'webhook_deleted', ready = 0`)
      await unsetWebhook()
      await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 100))
      expect([(await updates()).length, (await deliveries())[0]?.cancel_reason]).toEqual([0, 'webhook_deleted'])
    })

    it('deletion of expired updates skips rows that another process has locked', async () => {
      const locks = await locksOf(store, () => deleteOldUpdates(START_MS + DAY_MS, 100))
      expect(locks).toEqual(['skip updates', 'skip updates'])
    })

    it('expired updates are deleted in batches of the given size', async () => {
      for (let n = 0; n < 5; n++) await add()
      expect(await store.write(() => deleteOldUpdates(START_MS + DAY_MS, 2))).toBe(2)
      expect((await updates()).length).toBe(3)
    })
  })

  it.runIf(hasOneWriter).each([
    ['polling', () => poll({ botId: BOT, limit: 100, offset: 2, now: START_MS }), 'updates_pending'],
    ['polling the last updates', () => firstOfLast(BOT, { missing: 2, before: 9 }, START_MS), 'updates_pending'],
    ['the expiry sweep', () => deleteOldUpdates(START_MS, 100), 'updates_expiring'],
  ] as const)('query plan of %s uses an index that excludes updates kept for deliveries', async (_what, op, index) => {
    await add()
    const statements = (await stepsOf(store, op)).flatMap((step) => ('sql' in step ? [step] : []))
    const ofUpdates = statements.filter((it) => /(from|update|into) updates\b/.test(it.sql))
    const plans = await Promise.all(
      ofUpdates.map(({ sql, params }) =>
        store.read(() => all<{ detail: string }>(`explain query plan ${sql}`, params)),
      ),
    )
    const steps = plans.flatMap((plan) => plan.map((it) => it.detail))
    // Only the derived tables of one bounded window of updates may be scanned.
    expect(steps.filter((it) => /^SCAN (?!scanned|alive|CONSTANT ROW)/.test(it))).toEqual([])
    // A search by bot id alone would read all stored updates of the bot.
    expect(steps.filter((it) => /updates USING PRIMARY KEY \(bot_id=\?\)/.test(it))).toEqual([])
    expect(steps.join()).toContain(index)
  })
})
