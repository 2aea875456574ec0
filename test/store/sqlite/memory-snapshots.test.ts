import { expect, it } from 'vitest'
import { all, inserting } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { templateRow } from '../../support/store/rows.js'

const insertTemplate = inserting<object>('templates')

it('more snapshots than SQLite attaches databases can be restored in any order', async () => {
  const store = openSqliteStore(':memory:')
  const names = [...'abcdefghijklABCDEFGHIJKL']
  for (const name of names) {
    await store.write(() => insertTemplate(templateRow({ id: name, external_template_id: name })))
    await store.snapshots.save({ name, saved_at: 1, clock: 1 })
  }
  for (const name of names.toReversed()) {
    expect(await store.snapshots.restore(name)).toMatchObject({ name })
    const held = await store.read(() => all<{ id: string }>('select id from templates'))
    expect(held.map(({ id }) => id).sort()).toEqual(names.slice(0, names.indexOf(name) + 1).sort())
  }
  await store.close()
})
