import type { Notice, Op, Pending, Statement, Step } from '../operation.js'
import { clearState, STATE_REPLACED, type StoreSnapshots } from '../snapshots.js'
import { type Store, StoreUnavailable } from '../store.js'
import { stateTables } from '../tables.js'
import {
  closeDatabase,
  isOfOperation,
  type PreparedStatement,
  prepareStatement,
  rollBack,
  type SqliteDatabase,
  sqliteProblemOf,
} from './engine.js'
import { FileSnapshots } from './file-snapshots.js'
import { MemorySnapshots } from './memory-snapshots.js'
import { closeSqliteFile, openSqliteFile, pragma } from './open.js'
import { RowCache } from './row-cache.js'
import { triggersOf } from './triggers.js'

/** Maximum number of operations per commit, so that reads can run in between. */
const BATCH_MAX = 256
/** Commit immediately once this many writes are queued: each write's share of the fsync is then small. */
const IMMEDIATE_COMMIT_WRITES = 32

type Outcome = { readonly value: unknown; readonly notices: readonly Notice[] } | { readonly error: unknown }

/**
 * Opens a store with one connection. Queued writes share a commit (group commit) and resolve after it; a failing write
 * affects no other write. No transaction stays open across ticks, so reads see committed state. Reads run in a batch at
 * the end of the tick, which takes a third less time: their code stays in the CPU cache, and one wake-up of the peer
 * serves several responses.
 * @param path a file, or `:memory:`
 * @throws StoreUnusable
 */
export function openSqliteStore(path: string): Store {
  const db = openSqliteFile(path)
  const prepared = new Map<string, PreparedStatement>()
  const execute = executor(db, prepared)
  // In exclusive mode no other connection can change cached rows.
  const memo = pragma(db, 'locking_mode') === 'exclusive' ? new RowCache() : null
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const savepoint = db.prepare('savepoint op')
  const release = db.prepare('release op')

  const listeners = new Set<(subject: string) => void>()
  let reads: Pending[] = []
  /** Reads that paused. Each tick continues one, so that many of them delay other calls no more than one. */
  const paused: (() => void)[] = []
  let writes: Pending[] = []
  /**
   * Length of the write queue at the end of the last tick. The commit waits while the queue grows, which saves a third
   * of the fsyncs: callers whose writes share a commit send their next writes within a few ticks.
   */
  let lastQueueLength = 0
  let scheduled = false
  let closed = false
  /** Set after a failed fsync: the state on disk is unknown until the file is reopened. */
  let broken: Error | null = null

  /**
   * Runs one operation inside the open transaction. If `guarded`, a savepoint undoes the changes of a failed operation;
   * if not, returns null when a failed operation has left changes.
   */
  function attempt(op: () => Op<unknown>, guarded: boolean): Outcome | null {
    let changed = false
    const notices: Notice[] = []
    const perform = (statement: Statement): unknown => {
      if (statement.kind === 'run' || statement.changes) {
        if (guarded && !changed) savepoint.run()
        changed = true
        memo?.written(statement.sql)
      }
      return execute(statement)
    }
    try {
      const steps = op()
      let step = steps.next()
      while (!step.done) {
        if (step.value.kind === 'notify') {
          notices.push(step.value)
          step = steps.next()
          continue
        }
        if (step.value.kind === 'lock') step = steps.next()
        else if (step.value.kind === 'several') step = steps.next(step.value.statements.map(perform))
        else step = steps.next(perform(step.value))
      }
      if (guarded && changed) release.run()
      return { value: step.value, notices }
    } catch (error) {
      if (!isOfOperation(sqliteProblemOf(error))) throw error
      if (!changed) return { error }
      if (!guarded) return null
      db.exec('rollback to op; release op')
      return { error }
    }
  }

  /** Runs all operations of a batch; returns null if a failed operation has left changes. */
  function attemptAll(batch: readonly Pending[], guarded: boolean): Outcome[] | null {
    const outcomes: Outcome[] = []
    for (const { op } of batch) {
      const outcome = attempt(op, guarded)
      if (outcome === null) return null
      outcomes.push(outcome)
    }
    return outcomes
  }

  /**
   * Commits a batch. Savepoints copy every page before it changes, and operations rarely fail after their first change.
   * Therefore runs the batch without savepoints, and again with savepoints only if an operation failed after a change.
   */
  function commitBatch(batch: readonly Pending[]): Outcome[] {
    begin.run()
    let outcomes = attemptAll(batch, false)
    if (outcomes === null) {
      db.exec('rollback; begin immediate')
      outcomes = attemptAll(batch, true) as Outcome[]
    }
    commit.run()
    return outcomes
  }

  function drain(): void {
    scheduled = false
    runReads()
    if (writes.length > lastQueueLength && writes.length < IMMEDIATE_COMMIT_WRITES) lastQueueLength = writes.length
    else if (writes.length > 0) {
      lastQueueLength = 0
      commitWrites()
    }
    schedule()
  }

  function runReads(): void {
    const batch = reads
    reads = []
    for (const it of batch) evaluate(it)
    paused.shift()?.()
  }

  function commitWrites(): void {
    const batch = writes.length <= BATCH_MAX ? writes : writes.slice(0, BATCH_MAX)
    writes = writes.length <= BATCH_MAX ? [] : writes.slice(BATCH_MAX)
    let outcomes: Outcome[]
    try {
      if (broken !== null) throw broken
      outcomes = commitBatch(batch)
    } catch (cause) {
      abandon(cause)
      for (const { reject } of batch) reject(new StoreUnavailable('the database could not commit', { cause }))
      return
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) reject(outcome.error)
      else {
        resolve(outcome.value)
        for (const { subject } of outcome.notices) notifyListeners(subject)
      }
    }
  }

  function abandon(cause: unknown): void {
    const problem = sqliteProblemOf(cause)
    if (problem === 'io' || problem === 'damaged') broken = cause as Error
    rollBack(db)
  }

  function schedule(): void {
    if (scheduled || waiting() === 0) return
    scheduled = true
    setImmediate(drain)
  }

  const waiting = (): number => reads.length + writes.length + paused.length

  /** Runs a read until it ends or pauses. @param resumed where it paused */
  function evaluate(pending: Pending, resumed?: { readonly steps: Op<unknown>; readonly step: Step }): void {
    const perform = (statement: Statement): unknown =>
      statement.keep && memo !== null ? memo.row(statement, () => execute(statement)) : execute(statement)
    try {
      const steps = resumed?.steps ?? pending.op()
      let step = resumed === undefined ? steps.next() : { done: false as const, value: resumed.step }
      while (!step.done) {
        const { value } = step
        if (value.kind === 'notify' || value.kind === 'lock') throw new Error('a read changes nothing')
        if ('pauses' in value && value.pauses && value !== resumed?.step) {
          paused.push(() => evaluate(pending, { steps, step: value }))
          return
        }
        step = steps.next(value.kind === 'several' ? value.statements.map(perform) : perform(value))
      }
      pending.resolve(step.value)
    } catch (cause) {
      const isOwn = isOfOperation(sqliteProblemOf(cause))
      pending.reject(isOwn ? cause : new StoreUnavailable('the database could not be read', { cause }))
    }
  }

  /**
   * Runs the queued operations, then `work`, which uses the connection without a transaction of the store. Paused reads
   * continue later: they may have seconds of work left.
   * @param writesStore false if `work` writes only snapshots, whose damage leaves the store usable
   */
  async function runAlone<T>(work: () => T, writesStore = false): Promise<T> {
    if (closed) throw new StoreUnavailable('the database is closed')
    while (reads.length + writes.length > 0) drain()
    try {
      if (broken !== null) throw broken
      return work()
    } catch (cause) {
      rollBack(db)
      const problem = sqliteProblemOf(cause)
      if (problem === null) throw cause
      // The next operation of the store finds damage of the store itself.
      if (writesStore && problem === 'io') broken = cause as Error
      throw new StoreUnavailable('the snapshot could not be written or read', { cause })
    } finally {
      if (writesStore) memo?.clear()
    }
  }

  const copies =
    path === ':memory:'
      ? new MemorySnapshots(db, runAlone, () => prepared.clear())
      : new FileSnapshots(db, path, runAlone)
  const snapshots: StoreSnapshots = {
    save: (snapshot) => copies.save(snapshot),
    async restore(name) {
      const restored = await copies.restore(name)
      if (typeof restored === 'object') notifyListeners(STATE_REPLACED)
      return restored
    },
    list: () => copies.list(),
    remove: (name) => copies.remove(name),
    clear: (plant) => enqueue(writes, () => clearState(plant, stateTables, triggersOf(db))),
  }

  function notifyListeners(subject: string): void {
    for (const listener of listeners) listener(subject)
  }

  function enqueue<T>(pending: Pending[], op: () => Op<T>): Promise<T> {
    if (closed) return Promise.reject(new StoreUnavailable('the database is closed'))
    return new Promise<T>((resolve, reject) => {
      pending.push({ op, resolve: resolve as (value: unknown) => void, reject })
      schedule()
    })
  }

  return {
    name: path === ':memory:' ? 'memory' : 'sqlite',

    write: (op) => enqueue(writes, op),
    read: (op) => enqueue(reads, op),

    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    snapshots,

    async checkpoint(): Promise<void> {
      if (closed || broken !== null) return
      try {
        db.exec('pragma wal_checkpoint(passive)')
      } catch (cause) {
        abandon(cause)
        throw new StoreUnavailable('the database could not be written', { cause })
      }
    },

    async close(): Promise<void> {
      if (closed) return
      closed = true
      while (waiting() > 0) drain()
      await copies.close()
      if (broken === null) closeSqliteFile(db, path)
      else closeDatabase(db)
    },
  }
}

/** Inlines the look-up of prepared statements: an extra call per statement is measurable in a redeem. */
function executor(db: SqliteDatabase, prepared: Map<string, PreparedStatement>): (statement: Statement) => unknown {
  return ({ kind, sql, params }) => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = prepareStatement(db, sql)
      prepared.set(sql, statement)
    }
    return statement[kind === 'one' ? 'get' : kind](params)
  }
}
