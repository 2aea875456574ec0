import { setImmediate } from 'node:timers/promises'
import { type Op, type Pending, Superseded } from '../operation.js'
import type { GroupCommit } from '../store.js'
import { DatabaseFailure, type PostgresProblem, unavailable } from './errors.js'
import { CHANNEL } from './listen.js'
import type { Connections, PooledConnection } from './pool.js'
import { runOperation } from './run-operation.js'

/** Maximum number of operations per transaction. */
const BATCH_MAX = 64
/** Maximum attempts by kind of problem; `unavailable` and `stale` may concern only one connection. */
const RUNS_MAX: Partial<Record<PostgresProblem, number>> = { conflict: 8, constraint: 3, unavailable: 2, stale: 2 }

type PendingWrite = Pending & { readonly conflictKey: string }

/** Failure of a transaction that was not committed, or whose commit has an unknown result. */
interface Failure {
  readonly cause: unknown
  readonly mayRunAgain: boolean
}

/** Sends committed notices to this process and others. */
interface Notices {
  payloadOf(subject: string): string
  committed(subjects: readonly string[]): void
  /** The commit may have taken effect, or may still do so. */
  unknown(subjects: readonly string[]): void
}

/**
 * Runs operations in transactions. Operations of one group that arrive during the group's commit share the next
 * transaction and its round trips (group commit); if one fails, each runs alone.
 */
export class Writes {
  readonly #connections: Connections
  readonly #notices: Notices
  readonly #groups = new Map<string, PendingWrite[]>()

  constructor(connections: Connections, notices: Notices) {
    this.#connections = connections
    this.#notices = notices
  }

  write<T>(op: () => Op<T>, { group, conflictKey }: Partial<GroupCommit> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pending = { op, conflictKey: conflictKey ?? '', resolve: resolve as (value: unknown) => void, reject }
      if (group === undefined) return void this.#commit([pending])
      const waiting = this.#groups.get(group)
      if (waiting !== undefined) return void waiting.push(pending)
      this.#groups.set(group, [pending])
      void this.#commitGroup(group)
    })
  }

  async #commitGroup(group: string): Promise<void> {
    const waiting = this.#groups.get(group) ?? []
    while (waiting.length > 0) {
      // Wait for the other operations of this tick, so that they share the commit.
      await setImmediate()
      const outage = await this.#commit(takeBatch(waiting))
      // Reject the queued operations too: during an outage each would wait for its timeout and fail.
      if (outage?.isOutage) for (const { reject } of waiting.splice(0)) reject(unavailable(outage))
    }
    this.#groups.delete(group)
  }

  /** Resolves or rejects each operation of a batch. @returns a failure that would affect queued operations too */
  async #commit(batch: readonly PendingWrite[]): Promise<DatabaseFailure | undefined> {
    let common: DatabaseFailure | undefined
    if (batch.length > 1) {
      const failure = await this.#attempt(batch)
      if (failure === null) return
      const { cause, mayRunAgain } = failure
      if (!mayRunAgain) {
        for (const { reject } of batch) reject(unavailable(cause))
        return cause instanceof DatabaseFailure ? cause : undefined
      }
      if (cause instanceof DatabaseFailure && cause.problem === 'busy') common = cause
    }
    for (const pending of batch) {
      common ??= await this.#commitAlone(pending)
      if (common !== undefined) pending.reject(unavailable(common))
    }
    return common
  }

  /** Runs one operation until it resolves or rejects, or returns a failure that would affect other operations too. */
  async #commitAlone(pending: PendingWrite): Promise<DatabaseFailure | undefined> {
    const runs = new Map<PostgresProblem, number>()
    for (;;) {
      const failure = await this.#attempt([pending])
      if (failure === null) return
      const { cause, mayRunAgain } = failure
      const problem = problemOf(cause)
      const run = (runs.get(problem) ?? 0) + 1
      runs.set(problem, run)
      if (mayRunAgain && run < (RUNS_MAX[problem] ?? 1)) continue
      if (cause instanceof DatabaseFailure && (problem === 'unavailable' || problem === 'busy')) return cause
      pending.reject(problem === 'conflict' || !mayRunAgain ? unavailable(cause) : cause)
      return
    }
  }

  /** Runs operations in one transaction and resolves them after its commit. */
  async #attempt(batch: readonly PendingWrite[]): Promise<Failure | null> {
    let connection: PooledConnection
    try {
      connection = await this.#connections.lend('writes')
    } catch (cause) {
      return { cause, mayRunAgain: false }
    }
    let mayRunAgain = true
    const subjects: string[] = []
    try {
      const values = await runAll(batch, connection, subjects)
      mayRunAgain = false
      const startedAt = performance.now()
      await this.#end(connection, subjects)
      this.#connections.metrics.onCommit((performance.now() - startedAt) / 1000)
      for (const [index, { resolve }] of batch.entries()) resolve(values[index])
      if (subjects.length > 0) this.#notices.committed(subjects)
      return null
    } catch (cause) {
      if (!mayRunAgain) this.#notices.unknown(subjects)
      if (connection.isSound) await connection.query('rollback').catch(() => {})
      return { cause, mayRunAgain }
    } finally {
      connection.release()
    }
  }

  async #end(connection: PooledConnection, subjects: readonly string[]): Promise<void> {
    const notified = subjects.map((it) => connection.query(NOTIFY, [this.#notices.payloadOf(it)]))
    const [{ command }] = await Promise.all([connection.query('commit'), ...notified])
    // PostgreSQL responds `ROLLBACK` to the commit of a transaction that it has aborted.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
  }
}

const NOTIFY = `select pg_notify(${CHANNEL}, $1)`

/** Runs all operations. @returns their results @throws the first cause, after all operations have ended */
async function runAll(
  batch: readonly PendingWrite[],
  connection: PooledConnection,
  subjects: string[],
): Promise<readonly unknown[]> {
  const failures: unknown[] = []
  const note = (error: unknown): undefined => void failures.push(error)
  const begun = connection.query('begin').catch(note)
  const steps = await Promise.all(batch.map(({ op }) => runOperation(op, connection, subjects).catch(note)))
  await begun
  if (failures.length > 0) throw failures.find((it) => problemOf(it) !== 'aborted') ?? failures[0]
  return steps.map((step) => step?.value)
}

/** Removes the next batch from the queue: one operation per conflict key, in key order to prevent deadlocks. */
function takeBatch(waiting: PendingWrite[]): readonly PendingWrite[] {
  const rows = new Set<string>()
  const taken: PendingWrite[] = []
  for (const it of waiting.splice(0)) {
    if (taken.length < BATCH_MAX && !rows.has(it.conflictKey)) {
      rows.add(it.conflictKey)
      taken.push(it)
    } else waiting.push(it)
  }
  return taken.sort((a, b) => (a.conflictKey < b.conflictKey ? -1 : 1))
}

function problemOf(cause: unknown): PostgresProblem {
  if (cause instanceof Superseded) return 'conflict'
  return cause instanceof DatabaseFailure ? cause.problem : 'statement'
}
