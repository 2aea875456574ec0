import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Attempt } from '../../../src/store/delivery/attempt-results.js'
import {
  applyBacklog,
  beginDeliveries,
  cancelledTo,
  confirmTo,
  dropAll,
  endDeliveries,
  lockQueue,
  waitingCount,
} from '../../../src/store/delivery/backlog.js'
import { blockCounts, deliveryPage } from '../../../src/store/delivery/counts.js'
import * as deliveries from '../../../src/store/delivery/deliveries.js'
import { deleteOldUpdates } from '../../../src/store/delivery/updates.js'
import { runWorkerPass } from '../../../src/store/delivery/worker-pass.js'
import { all, count, type Op, run } from '../../../src/store/operation.js'
import { addUpdate } from '../../../src/store/outbox.js'
import { isRest } from '../../support/extent.js'
import { plantBot, plantWebhook } from '../../support/server/webhooks.js'
import { wrongCounts } from '../../support/store/bot-counts.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'
import { planOf } from '../../support/store/store-steps.js'
import { ended, failure, NOW, SYSTEM_NOW, success, WorkerPasses } from '../../support/webhook/worker-passes.js'

const BOT = 'bot_1'
const DAY_MS = 86_400_000
const STATUSES = ['pending', 'delivering', 'failed', 'delivered', 'dead_letter', 'cancelled'] as const

let passes: WorkerPasses
beforeEach(async () => {
  passes = new WorkerPasses(openTestStore())
  await passes.store.write(() => plantBot(BOT))
})
afterEach(() => passes.store.close())

const write = <T>(op: () => Op<T>) => passes.store.write(op)
const read = <T>(op: () => Op<T>) => passes.store.read(op)

/** Compares every page of every status, and the counts of the webhook, with queries that read all rows. */
function* differences(limit: number): Op<unknown[]> {
  const { cancelledTo: border } = yield* cancelledTo(BOT)
  const found: unknown[] = [yield* wrongCounts()]
  for (const status of [undefined, ...STATUSES]) {
    const where = `deliveries where bot_id = $1 and ${status === undefined ? 'true' : shown(status, border)}`
    const rows = yield* all<{ update_id: number }>(`select update_id from ${where} order by update_id desc`, [BOT])
    const ids = rows.map((it) => it.update_id)
    const { total } = yield* deliveryPage(BOT, status, border)
    if (total !== ids.length) found.push({ status, total })
    for (let page = 1; (page - 2) * limit < ids.length; page++) {
      const got = yield* deliveryPage(BOT, status, border, { page, limit })
      const expected = { total: ids.length, ids: ids.slice((page - 1) * limit, page * limit) }
      if (JSON.stringify(got) !== JSON.stringify(expected)) found.push({ status, page, got, expected })
    }
  }
  const { confirmed_to: confirmed } = yield* lockQueue(BOT)
  const waiting = yield* count('updates where bot_id = $1 and pending = 1 and update_id > $2', [BOT, confirmed ?? 0])
  if ((yield* waitingCount(BOT)) !== waiting) found.push({ waiting })
  return found
}

/** SQL of the status that a delivery shows, with the backlog of its bot. */
const shown = (status: string, border: number) => `'${status}' = case
  when status in ('pending', 'failed') and coalesce(resume_status, 'failed') = 'failed' and update_id <= ${border}
  then 'cancelled' else status end`

describe.skipIf(isRest)('counts of the deliveries of a bot', () => {
  /** 2,600 deliveries in three blocks, of every status, in flight and by hand. */
  const plant = () =>
    write(function* (): Op<void> {
      const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 2600) select'
      yield* plantWebhook(BOT)
      yield* run('update update_queues set last_update_id = 2600')
      yield* run(
        `insert into updates (bot_id, update_id, type, body, created_at, pending)
         select '${BOT}', i, 'ping', '{}', i * 1000, i % 2 from (${numbers} i from n) n`,
      )
      yield* run(
        `insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, resume_status, lease_until,
           attempt_count, manual_attempt_count, created_at, last_attempt_at, ready)
         select 'dlv_' || i, '${BOT}', i, 'ping', 'c' || i,
           case i % 6 when 0 then 'pending' when 1 then 'failed' when 2 then 'delivered' when 3 then 'dead_letter'
             when 4 then 'cancelled' else case i % 7 when 0 then 'delivering' else 'pending' end end,
           case i % 6 when 5 then case i / 6 % 4 when 0 then 'failed' when 1 then 'dead_letter' when 2 then 'delivered' end end,
           case when i % 42 = 35 then 1 end, i % 3, 0, i, i * 1000, 0 from (${numbers} i from n) n`,
      )
    })

  it.each([
    'confirmed_to = null',
    'confirmed_to = 1, dropped_to = 1',
    'confirmed_to = 999',
    'confirmed_to = 1000',
    'confirmed_to = 1500',
    'confirmed_to = 2600',
  ])('pages of each status have the rows that a query of all rows has if %s', async (markers) => {
    await plant()
    await write(() => run(`update update_queues set ${markers}`))
    expect(await read(() => differences(100))).toEqual([{}])
  })

  it('pages of a bot without a webhook show all that waits as cancelled', async () => {
    await plant()
    await write(() => run('delete from webhooks'))
    expect(await read(() => differences(100))).toEqual([{}])
  })

  it('page with few rows of a status reads no more than one block before them', async () => {
    await plant()
    const sizes: number[] = []
    await read(function* () {
      const running = deliveryPage(BOT, 'delivered', 0, { page: 4, limit: 100 })
      let step = running.next()
      while (!step.done) {
        const result = yield step.value
        const rows = step.value.kind === 'several' ? (result as unknown[]).flat() : [result].flat()
        sizes.push(rows.length)
        step = running.next(result)
      }
    })
    expect(Math.max(...sizes)).toBeLessThanOrEqual(300)
  })

  it('deletion of all rows leaves no count', async () => {
    await plant()
    for (const table of ['deliveries', 'updates']) await write(() => run(`delete from ${table}`))
    expect(await read(() => all('select * from bot_counts'))).toEqual([])
  })
})

/** Repeats the same choices for the same seed. */
function choices(seed: number): (end: number) => number {
  let state = seed
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
}

describe('counts after random operations', () => {
  const all = Array.from({ length: 6 }, (_, index) => index + 1 + Number(process.env.VOUCHERCTL_SEED ?? 0))
  const seeds = onPostgres ? all : all.filter((_, index) => index > 1 === isRest)

  it.each(seeds)('counts and pages match the rows (seed %d)', async (seed) => {
    const below = choices(seed)
    let made = 0
    let now = NOW
    let inFlight: readonly Attempt[] = []
    const maker = { now, newDeliveryId: () => `dlv_${++made}` }
    const onQueue = (change: (queue: Parameters<typeof dropAll>[0]) => Op<unknown>) => () =>
      (function* () {
        yield* change(yield* lockQueue(BOT))
      })()
    const hasWebhook = async () => (await passes.webhooks()).length > 0
    const setWebhook = async () => {
      if (await hasWebhook()) return
      await write(() => plantWebhook(BOT))
      await write(onQueue((queue) => beginDeliveries(queue, maker)))
    }
    /** Each with its weight. */
    const actions: readonly (readonly [number, () => Promise<unknown>])[] = [
      [
        4,
        async () => {
          for (let left = below(40); left >= 0; left--) {
            const update = { botId: BOT, type: 'ping', chatId: null, payload: { ping: {} }, ...maker, now } as const
            await write(() => addUpdate(update as unknown as Parameters<typeof addUpdate>[0]))
          }
        },
      ],
      [1, async () => (await hasWebhook()) || write(onQueue((it) => confirmTo(it, below(it.last_update_id + 1))))],
      [1, () => write(onQueue(dropAll))],
      [4, setWebhook],
      [
        1,
        async () => {
          if (!(await hasWebhook())) return
          await passes.sql('delete from webhooks')
          await write(onQueue(endDeliveries))
        },
      ],
      [2, () => write(() => applyBacklog(maker))],
      [
        12,
        async () => {
          const results = inFlight.map((it) => ended(it, below(3) === 0 ? failure : success, { endedAt: now + 50 }))
          const unconfirmed = below(4) === 0 ? inFlight : []
          const pass = { ended: unconfirmed.length > 0 ? [] : results, unconfirmed, room: 1 + below(30), now }
          inFlight = (await passes.run(pass)).begun
        },
      ],
      [2, () => passes.sql("update deliveries set attempt_count = 4 where status = 'failed'")],
      // A process ends: the leases of its attempts expire.
      [
        1,
        async () => {
          inFlight = []
          await passes.run({ lostBefore: SYSTEM_NOW + 10 * DAY_MS, room: 0, now })
        },
      ],
      [4, () => write(() => deliveries.retry('acc', BOT, String(1 + below(200)), below(2) === 0))],
      [
        6,
        async () => {
          now += below(70) * 60_000
        },
      ],
      [1, () => write(() => deleteOldUpdates(now + (below(3) === 0 ? DAY_MS : 0), 5))],
      [1, () => write(() => deliveries.deleteOldDeliveries(below(3) === 0 ? now : 0, 5))],
    ]
    const weighted = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))
    await setWebhook()
    for (let step = 0; step < 100; step++) {
      await weighted[below(weighted.length)]?.()
      // A wrong count stays wrong; on PostgreSQL the many queries of a comparison take most of the time.
      if (onPostgres && step % 5 < 4) continue
      expect(await read(() => differences(7)), `after step ${step}`).toEqual([{}])
    }
    const { length: attempts } = await passes.attempts()
    expect(attempts).toBeGreaterThan(0)
  })
})

describe.skipIf(onPostgres || isRest)('indexes that SQLite chooses for empty tables', () => {
  it.each([undefined, ...STATUSES])('list of the deliveries with status %s sorts and scans nothing', async (status) => {
    await passes.store.write(() => plantWebhook(BOT))
    const plan = await planOf(passes.store, () => deliveries.list('acc', BOT, status === undefined ? {} : { status }))
    // The attempts of one page are sorted.
    expect(
      plan.filter((it) => /SCAN|deliveries USING INDEX sqlite_autoindex_deliveries_2 \(bot_id=\?\)/.test(it)),
    ).toEqual([])
    if (status !== undefined) expect(plan.join()).toContain('INDEX deliveries_leased')
  })

  it('claims, removals of a webhook and one delivery read only the rows in flight of the bot', async () => {
    await passes.plant('bot_9', ['c1', 'c2'])
    const [delivery] = await passes.deliveries()
    const plan = await planOf(passes.store, function* () {
      yield* runWorkerPass({
        ended: [],
        bots: new Map([['bot_9', null]]),
        lostBefore: null,
        room: 1,
        now: NOW,
        trueNow: 1,
      })
      yield* deliveries.show(delivery?.id as string)
      yield* endDeliveries(yield* lockQueue('bot_9'))
    })
    expect(plan.filter((it) => /INDEX deliveries_leased \(bot_id=\? AND chat_key>\?\)/.test(it))).toHaveLength(3)
    expect(plan.filter((it) => /deliveries_by_kind \(bot_id=\?\)$/.test(it))).toEqual([])
  })

  it('ids and counts of a kind come from the index of kinds', async () => {
    const plan = await planOf(passes.store, () => blockCounts(BOT, { kind: 'failed', side: '>', id: 5 }))
    expect(plan.join()).toContain(
      'COVERING INDEX deliveries_by_kind (bot_id=? AND <expr>=? AND update_id>? AND update_id<?)',
    )
  })
})
