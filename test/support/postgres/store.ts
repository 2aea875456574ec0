import { run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import type { Store } from '../../../src/store/store.js'
import { usableSoon } from '../store/usable-soon.js'
import { DELETE_ALL, takeDatabase } from './database.js'

/** Opens a store on its own database; close() ends its connections. */
export function ownPostgresStore(): Store {
  const database = takeDatabase()
  const opening = database.url.then((url) => openPostgresStore({ url, env: {} }))
  return usableSoon('postgres', opening, (store) => store.close().finally(database.release))
}

/** Open stores for reuse, by number of partitions: opening a store takes ten times as long as emptying it. */
const idle = new Map<number, Store[]>()

/** Returns an empty store; close() waits for queued operations and keeps the connections for the next test. */
export function lentPostgresStore(partitions = 0): Store {
  const stores = idle.get(partitions) ?? []
  idle.set(partitions, stores)
  const reused = stores.pop()
  const opening =
    reused === undefined
      ? takeDatabase(partitions).url.then((url) => openPostgresStore({ url, env: {} }))
      : reused.write(() => run(DELETE_ALL)).then(() => reused)
  return usableSoon('postgres', opening, async (store) => void stores.push(store))
}
