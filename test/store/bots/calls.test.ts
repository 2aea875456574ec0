import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { METRICS_MS, minuteOf } from '../../../src/domain/bot/metrics.js'
import { add, type BotCallBucket, deleteOldCalls } from '../../../src/store/bots/calls.js'
import { all } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import { openTestStore } from '../../support/store/engines.js'
import { locksOf, stepsOf } from '../../support/store/store-steps.js'

const HOUR_MS = 3_600_000
const NOW = 100 * HOUR_MS

let store: Store
beforeEach(() => {
  store = openTestStore()
})
afterEach(() => store.close())

const bucket = (minute: number, overrides: Partial<BotCallBucket> = {}): BotCallBucket => ({
  bot_id: 'bot_1',
  minute,
  method: 'sendMessage',
  status: 200,
  code: '',
  calls: 1,
  ...overrides,
})
const stored = () => store.read(() => all('select * from bot_calls order by minute, method, status, code'))

describe('call counters of bots', () => {
  it('added calls increase the counter of their minute, method, status and code', async () => {
    const first = new Map([
      ['a', bucket(1)],
      ['b', bucket(1, { method: 'getUpdates' })],
    ])
    await store.write(() => add(first))
    await store.write(() => add(new Map([['a', bucket(1, { calls: 2 })]])))
    expect(await stored()).toEqual([bucket(1, { method: 'getUpdates' }), bucket(1, { calls: 3 })])
  })

  it('counters are written in the order of their keys, so that two processes do not deadlock', async () => {
    const keys = ['b', 'c', 'a']
    const steps = await stepsOf(store, () => add(new Map(keys.map((key) => [key, bucket(1, { method: key })]))))
    expect(steps.map((it) => 'params' in it && it.params[2])).toEqual(['a', 'b', 'c'])
  })

  it('counters are deleted an hour after the metrics period, oldest first, up to the limit', async () => {
    const last = minuteOf(NOW - METRICS_MS - HOUR_MS)
    for (const minute of [last, last - 1, last - 2, last - 3]) {
      await store.write(() => add(new Map([['a', bucket(minute)]])))
    }
    expect(await store.write(() => deleteOldCalls(NOW, 2))).toBe(2)
    expect(await stored()).toEqual([bucket(last - 1), bucket(last)])
    expect(await store.write(() => deleteOldCalls(NOW, 2))).toBe(1)
    expect(await stored()).toEqual([bucket(last)])
  })

  it('deletion of old counters skips rows that another process has locked', async () => {
    expect(await locksOf(store, () => deleteOldCalls(NOW, 2))).toEqual(['skip bot_calls'])
  })
})
