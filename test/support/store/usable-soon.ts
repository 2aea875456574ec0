import type { Op } from '../../../src/store/operation.js'
import { type GroupCommit, type Store, StoreUnavailable } from '../../../src/store/store.js'

/** A store that queues operations until it is open, so that tests can create servers synchronously. */
export function usableSoon(name: string, opening: Promise<Store>, end: (store: Store) => Promise<void>): Store {
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
    name,
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
