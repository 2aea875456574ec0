import { afterEach, beforeEach, expect, it } from 'vitest'
import { deliveryTotals } from '../../../src/store/delivery/totals.js'
import { run } from '../../../src/store/operation.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'
import { planOf } from '../../support/store/store-steps.js'
import { ended, failure, NOW, success, WorkerPasses } from '../../support/webhook/worker-passes.js'

let passes: WorkerPasses
beforeEach(() => {
  passes = new WorkerPasses(openTestStore())
})
afterEach(() => passes.store.close())

const totals = () => passes.store.read(deliveryTotals)

it('totals of an empty store are 0, without an oldest delivery', async () => {
  expect(await totals()).toEqual({ due: 0, retry: 0, dead_letter: 0, oldest: null })
})

it('totals add the deliveries of all bots that are due, that wait for a retry, and that are dead letters', async () => {
  await passes.plant('bot_1', ['a', 'b', 'c', 'd'])
  await passes.plant('bot_2', ['a', 'b'])
  expect(await totals()).toEqual({ due: 6, retry: 0, dead_letter: 0, oldest: NOW })
  const first = await passes.claim()
  await passes.run({ ended: [ended(first, failure)], room: 0 })
  const second = await passes.claim()
  await passes.run({ ended: [ended(second, success)], room: 0 })
  await passes.store.write(function* () {
    yield* run("update deliveries set status = 'dead_letter', ready = 0 where bot_id = 'bot_2' and update_id = 1")
    yield* run("update deliveries set created_at = $1 where bot_id = 'bot_2'", [NOW - 5])
  })
  expect(await totals()).toEqual({ due: 3, retry: 1, dead_letter: 1, oldest: NOW - 5 })
})

it.skipIf(onPostgres)('totals scan only indexes of waiting deliveries, and the index of bots', async () => {
  const plan = await planOf(passes.store, deliveryTotals)
  const scanned = plan.filter((it) => /^SCAN (?!b$)/.test(it)).map((it) => it.replace(/_by_chat$/, ''))
  expect(scanned).toEqual([
    'SCAN deliveries USING COVERING INDEX deliveries_ready',
    'SCAN deliveries USING COVERING INDEX deliveries_due',
    'SCAN bots USING COVERING INDEX sqlite_autoindex_bots_1',
  ])
  expect(plan.filter((it) => it.startsWith('SEARCH deliveries'))).toEqual([
    expect.stringContaining('INDEX deliveries_ready'),
    'SEARCH deliveries USING INDEX sqlite_autoindex_deliveries_2 (bot_id=? AND update_id=?)',
    expect.stringContaining('INDEX deliveries_ready'),
  ])
})
