import type { Op, Pending, Step } from '../operation.js'
import { clearState, RESTORE_NOTICES, type StoreSnapshots } from '../snapshots.js'
import { type Store, type StoreMetrics, StoreUnavailable } from '../store.js'
import { stateTables } from '../tables.js'
import {
  closeDatabase,
  executor,
  isOfOperation,
  type Perform,
  type PreparedStatement,
  RowCache,
  rollBack,
  type SqliteDatabase,
  type SqliteStatement,
  sqliteProblemOf,
} from './engine.js'
import { FileSnapshots, type RunAlone } from './file-snapshots.js'
import { MemorySnapshots } from './memory-snapshots.js'
import { closeSqliteFile, openSqliteFile, pragma } from './open.js'
import { triggersToTurnOff } from './table-copies.js'

/** Maximum operations per commit, so that reads can run in between. */
const BATCH_MAX = 256
/** Commit immediately once this many writes are queued: each write's share of the fsync is then small. */
const IMMEDIATE_COMMIT_WRITES = 32

/** Result of a write, with the subjects to notify after the commit. */
type Outcome = { readonly value: unknown; readonly subjects: readonly string[] } | { readonly error: unknown }

/**
 * @param path a file, or `:memory:`
 * @throws StoreUnusable
 */
export function openSqliteStore(path: string): Store {
  return new SqliteStore(openSqliteFile(path), path)
}

/**
 * A store with one connection. Queued writes share a commit (group commit) and resolve after it; a failing write
 * affects no other write. No transaction stays open across ticks, so reads see committed state. Reads run in a batch at
 * the end of the tick, which takes a third less time: their code stays in the CPU cache, and one wake-up of the peer
 * serves several responses.
 *
 * The members of `Store` are properties, so that a copy of the object is a store too.
 */
class SqliteStore implements Store {
  readonly name: string
  readonly snapshots: StoreSnapshots
  readonly metrics: StoreMetrics = { onCommit() {} }
  readonly #db: SqliteDatabase
  readonly #path: string
  readonly #execute: Perform
  readonly #memo: RowCache | null
  readonly #begin: SqliteStatement
  readonly #commit: SqliteStatement
  readonly #savepoint: SqliteStatement
  readonly #release: SqliteStatement
  readonly #copies: MemorySnapshots | FileSnapshots
  readonly #listeners = new Set<(subject: string) => void>()
  readonly #reads: Pending[] = []
  /** Paused reads. Each tick continues only one, so that other calls are delayed by at most one. */
  readonly #paused: (() => void)[] = []
  readonly #writes: Pending[] = []
  /**
   * Write queue length at the end of the last tick. The commit waits while the queue grows, which saves a third of the
   * fsyncs: callers whose writes share a commit send their next writes within a few ticks.
   */
  #lastQueueLength = 0
  #scheduled = false
  #closed = false
  /** Set after a failed fsync: the state on disk is unknown until the file is reopened. */
  #broken: Error | null = null

  constructor(db: SqliteDatabase, path: string) {
    const prepared = new Map<string, PreparedStatement>()
    const isInMemory = path === ':memory:'
    this.name = isInMemory ? 'memory' : 'sqlite'
    this.#db = db
    this.#path = path
    this.#execute = executor(db, prepared)
    // In exclusive mode, no other connection can change cached rows.
    this.#memo = pragma(db, 'locking_mode') === 'exclusive' ? new RowCache() : null
    this.#begin = db.prepare('begin immediate')
    this.#commit = db.prepare('commit')
    this.#savepoint = db.prepare('savepoint op')
    this.#release = db.prepare('release op')
    const copies = isInMemory ? new MemorySnapshots(db, this.#runAlone) : new FileSnapshots(db, path, this.#runAlone)
    this.#copies = copies
    this.snapshots = {
      save: (snapshot) => copies.save(snapshot),
      restore: (name) => this.#restore(name),
      list: () => copies.list(),
      remove: (name) => copies.remove(name),
      clear: (plant) => this.write(() => clearState(plant, stateTables, triggersToTurnOff(db))),
    }
  }

  readonly write = <T>(op: () => Op<T>): Promise<T> => this.#enqueue(this.#writes, op)

  readonly read = <T>(op: () => Op<T>): Promise<T> => this.#enqueue(this.#reads, op)

  readonly listen = (listener: (subject: string) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly checkpoint = async (): Promise<void> => {
    if (this.#closed || this.#broken !== null) return
    try {
      this.#db.exec('pragma wal_checkpoint(passive)')
    } catch (cause) {
      this.#abandon(cause)
      throw new StoreUnavailable('the database could not be written', { cause })
    }
  }

  readonly close = async (): Promise<void> => {
    if (this.#closed) return
    this.#closed = true
    while (this.#isBusy()) this.#drain()
    await this.#copies.close()
    if (this.#broken === null) closeSqliteFile(this.#db, this.#path)
    else closeDatabase(this.#db)
  }

  #enqueue<T>(queue: Pending[], op: () => Op<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the database is closed'))
    return new Promise<T>((resolve, reject) => {
      queue.push({ op, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  #isBusy(): boolean {
    return this.#reads.length + this.#writes.length + this.#paused.length > 0
  }

  #schedule(): void {
    if (this.#scheduled || !this.#isBusy()) return
    this.#scheduled = true
    setImmediate(() => this.#drain())
  }

  #drain(): void {
    this.#scheduled = false
    for (const pending of this.#reads.splice(0)) this.#evaluate(pending)
    this.#paused.shift()?.()
    const { length } = this.#writes
    if (length > this.#lastQueueLength && length < IMMEDIATE_COMMIT_WRITES) this.#lastQueueLength = length
    else if (length > 0) {
      this.#lastQueueLength = 0
      this.#commitWrites()
    }
    this.#schedule()
  }

  /** Runs a read until it ends or pauses. @param resumed position of the pause */
  #evaluate(pending: Pending, resumed?: { readonly steps: Op<unknown>; readonly step: Step }): void {
    try {
      const steps = resumed?.steps ?? pending.op()
      let next = resumed === undefined ? steps.next() : steps.next(resultOf(resumed.step, this.#performRead))
      while (!next.done && !pauses(next.value)) next = steps.next(resultOf(next.value, this.#performRead))
      if (next.done) return pending.resolve(next.value)
      const pause = { steps, step: next.value }
      this.#paused.push(() => this.#evaluate(pending, pause))
    } catch (cause) {
      const isOwn = isOfOperation(sqliteProblemOf(cause))
      pending.reject(isOwn ? cause : new StoreUnavailable('the database could not be read', { cause }))
    }
  }

  readonly #performRead: Perform = (statement) =>
    statement.keep && this.#memo !== null
      ? this.#memo.row(statement, () => this.#execute(statement))
      : this.#execute(statement)

  #commitWrites(): void {
    const batch = this.#writes.splice(0, BATCH_MAX)
    let outcomes: Outcome[]
    try {
      if (this.#broken !== null) throw this.#broken
      outcomes = this.#commitBatch(batch)
    } catch (cause) {
      this.#abandon(cause)
      for (const { reject } of batch) reject(new StoreUnavailable('the database could not commit', { cause }))
      return
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) reject(outcome.error)
      else {
        resolve(outcome.value)
        for (const subject of outcome.subjects) this.#notify(subject)
      }
    }
  }

  /**
   * Commits a batch. Savepoints copy every page before a change, and operations rarely fail after their first change.
   * The first run is therefore without savepoints; a second run has them if an operation failed after a change.
   */
  #commitBatch(batch: readonly Pending[]): Outcome[] {
    this.#begin.run()
    let outcomes = batch.map(({ op }) => this.#attempt(op, false))
    if (outcomes.includes(null)) {
      this.#db.exec('rollback; begin immediate')
      outcomes = batch.map(({ op }) => this.#attempt(op, true))
    }
    const startedAt = performance.now()
    this.#commit.run()
    this.metrics.onCommit((performance.now() - startedAt) / 1000)
    return outcomes as Outcome[]
  }

  /**
   * Runs one operation inside the open transaction. If `guarded`, a savepoint undoes the changes of a failed operation;
   * if not, returns null when a failed operation has left changes.
   */
  #attempt(op: () => Op<unknown>, guarded: boolean): Outcome | null {
    let changed = false
    const subjects: string[] = []
    const perform: Perform = (statement) => {
      if (statement.kind === 'run' || statement.changes) {
        if (guarded && !changed) this.#savepoint.run()
        changed = true
        this.#memo?.written(statement.sql)
      }
      return this.#execute(statement)
    }
    try {
      const steps = op()
      let next = steps.next()
      while (!next.done) next = steps.next(resultOf(next.value, perform, subjects))
      if (guarded && changed) this.#release.run()
      return { value: next.value, subjects }
    } catch (error) {
      if (!isOfOperation(sqliteProblemOf(error))) throw error
      if (!changed) return { error }
      if (!guarded) return null
      this.#db.exec('rollback to op; release op')
      return { error }
    }
  }

  #notify(subject: string): void {
    for (const listener of this.#listeners) listener(subject)
  }

  #abandon(cause: unknown): void {
    const problem = sqliteProblemOf(cause)
    if (problem === 'io' || problem === 'damaged') this.#broken = cause as Error
    rollBack(this.#db)
  }

  async #restore(name: string): ReturnType<StoreSnapshots['restore']> {
    const restored = await this.#copies.restore(name)
    if (typeof restored === 'object') for (const it of RESTORE_NOTICES) this.#notify(it)
    return restored
  }

  /**
   * Runs the queued operations, then `work`, which uses the connection without a transaction of the store. Paused reads
   * continue later, because they may have seconds of work left.
   * @param writesStore false if `work` writes only snapshots, whose damage leaves the store usable
   */
  readonly #runAlone: RunAlone = async (work, writesStore = false) => {
    if (this.#closed) throw new StoreUnavailable('the database is closed')
    while (this.#reads.length + this.#writes.length > 0) this.#drain()
    try {
      if (this.#broken !== null) throw this.#broken
      return work()
    } catch (cause) {
      rollBack(this.#db)
      const problem = sqliteProblemOf(cause)
      if (problem === null) throw cause
      // `work` on a snapshot leaves the store usable; after work on the store itself, its state is unknown.
      if (writesStore && problem === 'io') this.#broken = cause as Error
      throw new StoreUnavailable('the snapshot could not be written or read', { cause })
    } finally {
      if (writesStore) this.#memo?.clear()
    }
  }
}

/**
 * Performs a step. A single writer needs no locks.
 * @param subjects gets the notices of a write, which wait for the commit
 */
function resultOf(step: Step, perform: Perform, subjects?: string[]): unknown {
  if (step.kind === 'several') return step.statements.map(perform)
  if (step.kind !== 'notify' && step.kind !== 'lock') return perform(step)
  if (subjects === undefined) throw new Error('a read changes nothing')
  if (step.kind === 'notify') subjects.push(step.subject)
  return undefined
}

const pauses = (step: Step): boolean => 'pauses' in step && step.pauses === true
