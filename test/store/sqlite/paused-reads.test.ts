import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { listPage } from '../../../src/store/list-page.js'
import { all, oneLater, run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'

let store: Store
beforeEach(() => {
  store = openSqliteStore(':memory:')
})
afterEach(() => store.close())

it('reads that pause go on one after the other, each in its own tick, beside other reads and writes', async () => {
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

it('read that fails after a pause is rejected, and the next one goes on', async () => {
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

it('list of several slices has each row once, in order, whatever its times', async () => {
  const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500) select i from n'
  await store.write(() =>
    run(`insert into applications select 'app_' || i, 'acc', 'a', null, 'active', 0, '[]', '[]', 'optional', i / 700, 1
         from (${numbers}) n`),
  )
  const expected = (await store.read(() => all('select id from applications order by created_at desc, id desc'))).map(
    (it) => it.id,
  )
  for (const page of [1, 10, 11, 24, 25, 26]) {
    const { items, pagination } = await store.read(() =>
      listPage<{ id: string }, string>('applications where true', [], { page, limit: 100 }, (row) => row.id),
    )
    expect(items).toEqual(expected.slice((page - 1) * 100, page * 100))
    expect(pagination.total).toBe(2500)
  }
})
