import { run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { usableSoon } from './usable-soon.js'

/** Open stores for reuse: creating the tables of a store takes ten times as long as emptying them. */
const idle: Store[] = []

/** Returns an empty SQLite store in memory; close() keeps the database for the next test. */
export function lentMemoryStore(): Store {
  const reused = idle.pop()
  const opening = reused === undefined ? Promise.resolve(openSqliteStore(':memory:')) : emptied(reused)
  return usableSoon('memory', opening, async (store) => void idle.push(store))
}

async function emptied(store: Store): Promise<Store> {
  const { snapshots } = store
  for (const { name } of await snapshots.list()) await snapshots.remove(name)
  await snapshots.clear(() => run('delete from credential_keys'))
  return store
}
