import { afterEach, beforeEach, expect, it } from 'vitest'
import type { WebhookLease } from '../../src/domain/bot/rows.js'
import { all, run, type Statement } from '../../src/store/operation.js'
import { overview } from '../../src/store/overview.js'
import { onPostgres } from '../support/store/engine-name.js'
import { openTestStore } from '../support/store/engines.js'
import { planOf, statementsOf, stepsOf } from '../support/store/store-steps.js'
import { ended, failure, NOW, success, WorkerPasses } from '../support/webhook/worker-passes.js'

const MINUTE_MS = 60_000
/** Start of the minute of NOW. */
const SINCE = NOW - (NOW % MINUTE_MS)

let passes: WorkerPasses
beforeEach(() => {
  passes = new WorkerPasses(openTestStore())
})
afterEach(() => passes.store.close())

const read = (since = SINCE, leaseNow = NOW, maximum?: number) =>
  passes.store.read(() => overview(since, leaseNow, maximum))

const nothing = {
  failed_attempts: { items: [], complete: true },
  failing_deliveries: 0,
  dead_letters: 0,
  reviews: 0,
  borrowed_webhooks: [],
}

it('overview of an empty store has nothing', async () => {
  expect(await read()).toEqual(nothing)
})

it('overview counts failed attempts of all bots by code and status, and no earlier ones', async () => {
  await passes.plant('bot_1', ['a', 'b', 'c'])
  await passes.plant('bot_2', ['a'])
  await passes.run({ ended: [ended(await passes.claim(), failure)], room: 0 })
  await passes.run({ ended: [ended(await passes.claim(), failure)], room: 0 })
  await passes.run({ ended: [ended(await passes.claim(), success)], room: 0 })
  const { statusCode: status, error } = failure
  const failed_attempts = { items: [{ code: error?.code, status, count: 2 }], complete: true }
  expect(await read()).toEqual({ ...nothing, failed_attempts, failing_deliveries: 2 })
  expect(await read(SINCE + MINUTE_MS)).toMatchObject({ failed_attempts: { items: [], complete: true } })
})

it('overview that reads its maximum of attempts is not complete', { tags: 'activity/4' }, async () => {
  await passes.plant('bot_1', ['a', 'b'])
  await passes.run({ ended: [ended(await passes.claim(), failure)], room: 0 })
  await passes.run({ ended: [ended(await passes.claim(), failure)], room: 0 })
  expect((await read(SINCE, NOW, 2)).failed_attempts.complete).toBe(true)
  expect((await read(SINCE, NOW, 1)).failed_attempts.complete).toBe(false)
})

it('overview has a borrowed webhook until its lease ends', async () => {
  await passes.plant('bot_1', ['a'])
  const lease = JSON.stringify({ id: 'one', holder: 'process 1', kept: null } satisfies WebhookLease)
  await passes.store.write(() => run('update webhooks set lease = $1, lease_until = $2', [lease, NOW + 1]))
  expect((await read()).borrowed_webhooks).toEqual([{ bot_id: 'bot_1', holder: 'process 1' }])
  expect((await read(SINCE, NOW + 1)).borrowed_webhooks).toEqual([])
})

it.skipIf(onPostgres)('overview reads attempts, counts, reviews and leases by an index', async () => {
  const plan = await planOf(passes.store, () => overview(SINCE, NOW))
  expect(plan).toContain('SEARCH a USING INDEX delivery_attempts_by_bot (bot_id=? AND started_at>? AND started_at<?)')
  expect(plan).toContain('SEARCH bot_counts USING PRIMARY KEY (bot_id=? AND kind=? AND block>?)')
  expect(plan).toContain('SEARCH webhooks USING INDEX webhooks_leased (lease_until>?)')
  // The others are subqueries (`b`, `c`, `read`), one row of each webhook, and indexes of waiting reviews.
  const scans = plan.filter(
    (it) =>
      it.startsWith('SCAN ') && !/^SCAN (?:b|c|read|(?:webhooks|templates|bots) USING COVERING INDEX .*)$/.test(it),
  )
  expect(scans).toEqual([])
})

it.runIf(onPostgres)('overview reads no table of attempts sequentially, also if there are many', async () => {
  await passes.plant('bot_1', ['a'])
  await passes.store.write(function* () {
    yield* run(`insert into delivery_attempts (delivery_id, number, bot_id, manual, started_at, duration_ms)
      select 'dlv_' || i, 1, 'bot_1', 0, i * 1000, 1 from generate_series(1, 20000) i`)
  })
  const steps = await stepsOf(passes.store, () => overview(SINCE, NOW))
  const { sql, params } = steps.flatMap(statementsOf).find((it) => it.sql.includes('delivery_attempts')) as Statement
  const plan = await passes.store.write(function* () {
    // Without statistics of the others, the plan depends on what other tests have stored.
    yield* run('analyze delivery_attempts, bot_counts, bots')
    return yield* all<{ 'QUERY PLAN': string }>(`explain ${sql}`, params)
  })
  const scans = plan.map((it) => it['QUERY PLAN']).filter((it) => / Scan .*\bon delivery_attempts/.test(it))
  expect(scans.length).toBeGreaterThan(0)
  expect(scans.filter((it) => it.includes('Seq Scan'))).toEqual([])
})
