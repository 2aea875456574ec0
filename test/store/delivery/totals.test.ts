import { afterEach, beforeEach, expect, it } from 'vitest'
import { deliveryTotals } from '../../../src/store/delivery/totals.js'
import { all, run } from '../../../src/store/operation.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'
import { planOf, statementsOf, stepsOf } from '../../support/store/store-steps.js'
import { ended, failure, NOW, success, WorkerPasses } from '../../support/webhook/worker-passes.js'

let passes: WorkerPasses
beforeEach(() => {
  passes = new WorkerPasses(openTestStore())
})
afterEach(() => passes.store.close())

const totals = () => passes.store.read(deliveryTotals)

it('totals of an empty store are 0, without an oldest delivery', async () => {
  expect(await totals()).toEqual({ pending: 0, failed: 0, dead_letter: 0, oldest: null })
})

it('totals add the deliveries to all webhooks that are pending, failed, or dead letters', async () => {
  await passes.plant('bot_1', ['a', 'b', 'c', 'd'])
  await passes.plant('bot_2', ['a', 'b'])
  expect(await totals()).toEqual({ pending: 6, failed: 0, dead_letter: 0, oldest: NOW })
  const first = await passes.claim()
  await passes.run({ ended: [ended(first, failure)], room: 0 })
  const second = await passes.claim()
  await passes.run({ ended: [ended(second, success)], room: 0 })
  await passes.store.write(function* () {
    yield* run("update deliveries set status = 'dead_letter', ready = 0 where bot_id = 'bot_2' and update_id = 1")
    yield* run("update deliveries set created_at = $1 where bot_id = 'bot_2'", [NOW - 5])
  })
  expect(await totals()).toEqual({ pending: 3, failed: 1, dead_letter: 1, oldest: NOW - 5 })
})

it('totals count a retry by hand as pending', async () => {
  await passes.plant('bot_1', ['a'])
  await passes.run({ ended: [ended(await passes.claim(), success)], room: 0 })
  expect(await totals()).toEqual({ pending: 0, failed: 0, dead_letter: 0, oldest: null })
  await passes.store.write(() =>
    run("update deliveries set status = 'pending', resume_status = 'delivered', ready = 1 where bot_id = 'bot_1'"),
  )
  expect(await totals()).toEqual({ pending: 1, failed: 0, dead_letter: 0, oldest: NOW })
})

it.skipIf(onPostgres)('totals read the kept counts of each webhook and one due delivery of each bot', async () => {
  const plan = await planOf(passes.store, deliveryTotals)
  const counts = 'SEARCH bot_counts USING PRIMARY KEY (bot_id=? AND kind=?)'
  expect(plan.filter((it) => /^S(?:CAN|EARCH) (?!b$|d )/.test(it)).map((it) => it.replace('_by_chat', ''))).toEqual([
    'SCAN webhooks USING COVERING INDEX sqlite_autoindex_webhooks_1',
    ...[counts, counts, counts],
    'SEARCH deliveries USING COVERING INDEX deliveries_ready',
    'SEARCH deliveries USING INDEX sqlite_autoindex_deliveries_2 (bot_id=? AND update_id=?)',
    'SEARCH deliveries USING COVERING INDEX deliveries_ready (bot_id=?)',
  ])
})

it.runIf(onPostgres)('totals read no table of deliveries sequentially, also if many are due', async () => {
  await passes.plant('bot_1', ['a'])
  await passes.store.write(function* () {
    yield* run(`insert into deliveries (id, bot_id, update_id, update_type, chat_key, status, attempt_count,
        manual_attempt_count, created_at, next_attempt_at, ready)
      select 'd' || n, 'bot_1', n, 'ping', n::text, 'pending', 0, 0, n, n, 1 from generate_series(2, 20000) n`)
  })
  const [statement] = (await stepsOf(passes.store, deliveryTotals)).flatMap(statementsOf)
  const plan = await passes.store.write(function* () {
    yield* run('analyze deliveries')
    return yield* all<{ 'QUERY PLAN': string }>(`explain ${statement?.sql}`)
  })
  const scans = plan.map((it) => it['QUERY PLAN']).filter((it) => / Scan .*\bon deliveries/.test(it))
  expect(scans.length).toBeGreaterThan(2)
  expect(scans.filter((it) => it.includes('Seq Scan'))).toEqual([])
})
