import { type Op, run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { type GroupCommit, type Store, StoreUnavailable } from '../../../src/store/store.js'
import { DELETE_ALL, takeDatabase } from './database.js'

/** Opens a store on its own database; close() ends its connections. */
export function ownPostgresStore(): Store {
  const database = takeDatabase()
  const opening = database.url.then((url) => openPostgresStore({ url, env: {} }))
  return usableSoon(opening, (store) => store.close().finally(database.release))
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
  return usableSoon(opening, async (store) => void stores.push(store))
}

/** A store that queues operations until it is open, so that tests can create servers synchronously. */
function usableSoon(opening: Promise<Store>, end: (store: Store) => Promise<void>): Store {
  opening.catch(() => {})
  let closing: Promise<void> | undefined
  const running = new Set<Promise<unknown>>()
  const stops = new Set<() => void>()
  const unlessClosed = <T>(call: (store: Store) => Promise<T>): Promise<T> => {
    if (closing !== undefined) return Promise.reject(new StoreUnavailable('the database is closed'))
    const result = opening.then(call)
    running.add(result)
    const over = () => running.delete(result)
    result.then(over, over)
    return result
  }
  const close = async () => {
    const store = await opening
    await Promise.allSettled(running)
    for (const stop of stops) stop()
    await end(store)
  }
  return {
    name: 'postgres',
    write: <T>(op: () => Op<T>, group?: GroupCommit) => unlessClosed((store) => store.write(op, group)),
    read: <T>(op: () => Op<T>) => unlessClosed((store) => store.read(op)),
    snapshots: {
      save: (snapshot) => unlessClosed(({ snapshots }) => snapshots.save(snapshot)),
      restore: (name) => unlessClosed(({ snapshots }) => snapshots.restore(name)),
      list: () => unlessClosed(({ snapshots }) => snapshots.list()),
      remove: (name) => unlessClosed(({ snapshots }) => snapshots.remove(name)),
      clear: (plant) => unlessClosed(({ snapshots }) => snapshots.clear(plant)),
    },
    listen(listener, missed) {
      let stop: (() => void) | undefined
      let stopped = false
      const stopListening = () => {
        stopped = true
        stop?.()
        stops.delete(stopListening)
      }
      stops.add(stopListening)
      opening.then(
        (store) => {
          if (!stopped) stop = store.listen(listener, missed)
        },
        () => {},
      )
      return stopListening
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}
