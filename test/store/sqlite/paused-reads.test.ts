import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { all, oneLater, run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'

let store: Store
beforeEach(() => {
  store = openSqliteStore(':memory:')
})
afterEach(() => store.close())

it('paused reads continue in turn, one in each tick, beside other reads and writes', async () => {
  const log: string[] = []
  let tick = 0
  const long = (name: string) =>
    store.read(function* () {
      for (let part = 1; part <= 3; part++) {
        yield* oneLater('select 1 as n', [], part > 1)
        log.push(`${name}${part} ${tick}`)
      }
      return name
    })
  const reads = Promise.all([long('a'), long('b')])
  for (; tick < 2; tick++) await setImmediate()
  expect(log).toEqual(['a1 0', 'b1 0', 'a2 0', 'b2 1'])
  expect(await store.read(() => all('select 1 as n'))).toEqual([{ n: 1 }])
  await store.write(() => run("insert into credential_keys values ('k', 'c', 1)"))
  expect(await reads).toEqual(['a', 'b'])
  expect(log.map((it) => it.slice(0, 2))).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
})

it('read that fails after a pause is rejected, and the next one continues', async () => {
  const failing = store.read(function* () {
    yield* oneLater('select 1 as n', [])
    throw new RangeError('wrong')
  })
  const other = store.read(() => oneLater('select 1 as n', []))
  await expect(failing).rejects.toThrow('wrong')
  expect(await other).toEqual({ n: 1 })
})

it('close waits for a read that has paused', async () => {
  const reading = store.read(() => oneLater('select 1 as n', []))
  await store.close()
  expect(await reading).toEqual({ n: 1 })
})

it('snapshot does not wait for a read that has paused', async () => {
  let parts = 0
  const reading = store.read(function* () {
    for (; parts < 100; parts++) yield* oneLater('select 1 as n', [])
    return parts
  })
  await store.snapshots.save({ name: 'one', saved_at: 1, clock: 1 })
  expect(parts).toBeLessThan(100)
  expect(await reading).toBe(100)
})
