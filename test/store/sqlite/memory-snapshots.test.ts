import { afterEach, beforeEach, expect, it } from 'vitest'
import { all, inserting, run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { templateRow } from '../../support/store/rows.js'

const insertTemplate = inserting<object>('templates')
const at = (name: string, saved_at = 1) => ({ name, saved_at, clock: 1 })

let store: Store
beforeEach(() => {
  store = openSqliteStore(':memory:')
})
afterEach(() => store.close())

const add = (id: string) => store.write(() => insertTemplate(templateRow({ id, external_template_id: id })))
const ids = async () =>
  (await store.read(() => all<{ id: string }>('select id from templates order by id'))).map((it) => it.id)

it('snapshots can be restored in any order, each as often as needed', async () => {
  // SQLite compiles this deletion before a snapshot exists.
  await store.snapshots.clear(function* () {})
  await add('a')
  await store.snapshots.save(at('one'))
  await add('b')
  await store.snapshots.save(at('two'))
  await store.write(() => run("update templates set name = 'changed'"))
  await store.snapshots.clear(function* () {})
  for (const [name, expected] of [
    ['two', ['a', 'b']],
    ['one', ['a']],
    ['two', ['a', 'b']],
    ['two', ['a', 'b']],
    ['one', ['a']],
  ] as const) {
    expect(await store.snapshots.restore(name)).toMatchObject({ name })
    expect(await ids()).toEqual(expected)
    await add('c')
    expect(await store.read(() => all("select id from templates where name = 'changed'"))).toEqual([])
  }
})

it('save under a used name replaces the snapshot, and list sorts by age', async () => {
  await store.snapshots.save(at('one', 1))
  await store.snapshots.save(at('two', 2))
  await add('a')
  await store.snapshots.save(at('one', 3))
  expect((await store.snapshots.list()).map((it) => it.name)).toEqual(['two', 'one'])
  await store.snapshots.clear(function* () {})
  await store.snapshots.restore('one')
  expect(await ids()).toEqual(['a'])
})

it('a removed snapshot is missing', async () => {
  await store.snapshots.save(at('one'))
  expect(await store.snapshots.remove('one')).toMatchObject({ name: 'one' })
  expect(await store.snapshots.remove('one')).toBeUndefined()
  expect(await store.snapshots.restore('one')).toBe('missing')
})

it('every table has a primary key, without which its changes would not be recorded', async () => {
  const tables = await store.read(() => all<{ name: string }>("select name from sqlite_master where type = 'table'"))
  for (const { name } of tables) {
    const columns = await store.read(() =>
      all<{ pk: number; notnull: number }>(`select * from pragma_table_info('${name}')`),
    )
    expect([name, columns.some((it) => it.pk > 0)]).toEqual([name, true])
  }
})
