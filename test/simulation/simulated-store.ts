import type { Op } from '../../src/store/operation.js'
import { type GroupCommit, type Store, StoreUnavailable } from '../../src/store/store.js'
import type { Owner, Scheduler } from './scheduler.js'

/** What happens to a write: `failed` rolls it back, `lost` commits it; both reject as if the database were gone. */
export type WriteFault = 'none' | 'failed' | 'lost'

export interface StoreBehaviour {
  /** Virtual ms that an operation waits for the database. */
  latency(): number
  fault(): WriteFault
  /** Called when a write starts to wait. */
  check(): WriteCheck
}

/** Checks the effect of one write. */
export interface WriteCheck {
  /** Runs the operation and reads the state before and after it. */
  review<T>(op: () => Op<T>): Op<T>
  committed(): void
  /** Called if the write changed nothing. */
  failed(): void
}

/**
 * The store of one simulated process. Processes share the database, so that it outlives them; what an ended process has
 * queued never runs.
 */
export function simulatedStore(database: Store, owner: Owner, scheduler: Scheduler, behaviour: StoreBehaviour): Store {
  let closed = false

  async function run<T>(op: () => Op<T>, execute: (op: () => Op<T>) => Promise<T>): Promise<T> {
    if (closed) throw new StoreUnavailable('the database is closed')
    await scheduler.sleep(behaviour.latency())
    // The database must run its batch even if the process ends meanwhile.
    const result = scheduler.as(undefined, () =>
      execute(function* () {
        if (owner.ended) throw new StoreUnavailable('the process has ended')
        return yield* op()
      }),
    )
    const settled = await result.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    // A separate promise: one for all would hold whatever waits for it until the program ends.
    if (owner.ended) return new Promise<never>(() => {})
    if ('error' in settled) throw settled.error
    return settled.value
  }

  async function write<T>(op: () => Op<T>, group?: GroupCommit): Promise<T> {
    const fault = behaviour.fault()
    const check = behaviour.check()
    const value = await run(
      function* () {
        const result = yield* check.review(op)
        if (fault === 'failed') {
          check.failed()
          throw new StoreUnavailable('the commit failed')
        }
        return result
      },
      async (it) => {
        try {
          const written = await database.write(it, group)
          check.committed()
          return written
        } catch (error) {
          check.failed()
          throw error
        }
      },
    )
    if (fault === 'lost') throw new StoreUnavailable('the result of the commit was lost')
    return value
  }

  return {
    name: database.name,
    write,
    read: (op) => run(op, (it) => database.read(it)),
    listen: (listener, missed) =>
      database.listen((subject) => {
        if (!owner.ended) scheduler.as(owner, () => listener(subject))
      }, missed),
    snapshots: database.snapshots,
    close: async () => {
      closed = true
    },
  }
}
