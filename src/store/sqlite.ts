import type { Op, Statement } from './operation.js'
import { type Bound, type SqliteDatabase, type SqliteStatement, sqliteProblemOf } from './sqlite-engine.js'
import { openSqliteFile } from './sqlite-open.js'
import { type Store, StoreUnavailable } from './store.js'

/** Operations that share one commit at most: keeps the event loop free for reads in between. */
const BATCH_MAX = 256

interface Pending {
  readonly op: () => Op<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/**
 * One connection, one writer. Writes queue up and share a commit (group commit), each behind a savepoint of its
 * own, and are answered after the commit. No transaction stays open across ticks, so reads see committed state.
 * @param path a file, or `:memory:`
 * @throws StoreUnusable
 */
export function openSqliteStore(path: string): Store {
  const db = openSqliteFile(path)
  const execute = executor(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const savepoint = db.prepare('savepoint op')
  const release = db.prepare('release op')
  const NOTHING: Bound = {}

  let queue: Pending[] = []
  let scheduled = false
  let closed = false
  /** Set after a failed fsync: what the disk holds is unknown until the file is opened anew. */
  let broken: Error | null = null

  /** Runs one operation; its savepoint opens with its first change, so that refusals cost none. */
  function attempt(op: () => Op<unknown>): Outcome {
    let opened = false
    try {
      const steps = op()
      let step = steps.next()
      while (!step.done) {
        if (!opened && step.value.kind === 'run') {
          savepoint.run(NOTHING)
          opened = true
        }
        step = steps.next(execute(step.value))
      }
      if (opened) release.run(NOTHING)
      return { value: step.value }
    } catch (error) {
      const problem = sqliteProblemOf(error)
      if (problem !== null && problem !== 'constraint') throw error
      if (opened) db.exec('rollback to op; release op')
      return { error }
    }
  }

  function drain(): void {
    scheduled = false
    if (queue.length === 0) return
    const batch = queue.length <= BATCH_MAX ? queue : queue.slice(0, BATCH_MAX)
    queue = queue.length <= BATCH_MAX ? [] : queue.slice(BATCH_MAX)
    const outcomes: Outcome[] = []
    try {
      if (broken !== null) throw broken
      begin.run(NOTHING)
      for (const { op } of batch) outcomes.push(attempt(op))
      commit.run(NOTHING)
    } catch (cause) {
      abandon(cause)
      for (const { reject } of batch) reject(new StoreUnavailable('the database could not commit', { cause }))
      schedule()
      return
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index] as Outcome
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.value)
    }
    schedule()
  }

  function abandon(cause: unknown): void {
    const problem = sqliteProblemOf(cause)
    if (problem === 'io' || problem === 'damaged') broken = cause as Error
    try {
      db.exec('rollback')
    } catch {
      // SQLite has rolled back by itself, as it does after most of these errors.
    }
  }

  function schedule(): void {
    if (scheduled || queue.length === 0) return
    scheduled = true
    setImmediate(drain)
  }

  function evaluate<T>(op: () => Op<T>): T {
    const steps = op()
    let step = steps.next()
    while (!step.done) step = steps.next(execute(step.value))
    return step.value
  }

  return {
    name: path === ':memory:' ? 'memory' : 'sqlite',

    write<T>(op: () => Op<T>): Promise<T> {
      if (closed) return Promise.reject(new StoreUnavailable('the database is closed'))
      return new Promise<T>((resolve, reject) => {
        queue.push({ op, resolve: resolve as (value: unknown) => void, reject })
        schedule()
      })
    },

    async read<T>(op: () => Op<T>): Promise<T> {
      if (closed) throw new StoreUnavailable('the database is closed')
      try {
        return evaluate(op)
      } catch (cause) {
        if (sqliteProblemOf(cause) === null) throw cause
        throw new StoreUnavailable('the database could not be read', { cause })
      }
    },

    async close(): Promise<void> {
      if (closed) return
      closed = true
      while (queue.length > 0) drain()
      if (broken === null && path !== ':memory:') db.exec('pragma wal_checkpoint(truncate)')
      db.close()
    },
  }
}

function executor(db: SqliteDatabase): (statement: Statement) => unknown {
  const prepared = new Map<string, SqliteStatement>()
  return ({ kind, sql, params }) => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = db.prepare(sql)
      prepared.set(sql, statement)
    }
    const bound: Bound = {}
    for (let index = 0; index < params.length; index++) {
      const value = params[index]
      if (value === undefined) throw new TypeError(`parameter $${index + 1} is undefined in: ${sql}`)
      bound[index + 1] = value
    }
    if (kind === 'one') return statement.get(bound)
    if (kind === 'all') return statement.all(bound)
    return Number(statement.run(bound).changes)
  }
}
