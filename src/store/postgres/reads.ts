import { setImmediate } from 'node:timers/promises'
import type { Op, Pending } from '../operation.js'
import { DatabaseFailure, unavailable } from './errors.js'
import type { Connections, PooledConnection } from './pool.js'
import { runOperation } from './run-operation.js'

/** Maximum number of reads that share a connection: a slow read delays only the reads of its batch. */
const BATCH_MAX = 64

const BEGIN = 'begin transaction isolation level repeatable read, read only'

type PendingRead = Pending & { isRetry: boolean }

/**
 * Runs read-only operations, many on one connection. Most operations have one statement; an operation with several
 * statements restarts in a transaction with one snapshot, on another connection.
 */
export class Reads {
  readonly #connections: Connections
  readonly #waiting: PendingRead[] = []
  #isLending = false
  #alone: Promise<void> = Promise.resolve()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  read<T>(op: () => Op<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ op, resolve: resolve as (value: unknown) => void, reject, isRetry: false })
      void this.#runWaiting()
    })
  }

  /** Runs the queued reads each time a connection becomes free. */
  async #runWaiting(): Promise<void> {
    if (this.#isLending) return
    this.#isLending = true
    await setImmediate()
    while (this.#waiting.length > 0) {
      const { length } = this.#waiting
      try {
        const connection = await this.#connections.lend('reads')
        void this.#runBatch(this.#waiting.splice(0, BATCH_MAX), connection)
      } catch (cause) {
        // Reject only the reads queued before the failure. Later reads try again: the database may have recovered.
        for (const { reject } of this.#waiting.splice(0, length)) reject(unavailable(cause))
      }
    }
    this.#isLending = false
  }

  async #runBatch(batch: readonly PendingRead[], connection: PooledConnection): Promise<void> {
    const isDone = await Promise.all(
      batch.map((read) => this.#settle(read, runOperation(read.op, connection, undefined, 1))),
    )
    connection.release()
    for (const [index, it] of batch.entries()) if (!isDone[index]) void this.#runInSnapshot(it, false)
  }

  /** A read that pauses starts again. Such reads wait for each other, so that the other connections stay free. */
  async #runInSnapshot(pending: PendingRead, mayPause: boolean): Promise<void> {
    try {
      const connection = await this.#connections.lend('longReads')
      const isDone = await this.#settle(pending, inSnapshot(pending.op, connection, mayPause))
      connection.release()
      if (!isDone) this.#alone = this.#alone.then(() => this.#runInSnapshot(pending, true))
    } catch (cause) {
      pending.reject(unavailable(cause))
    }
  }

  /** @returns true if the read is finished or queued again */
  async #settle(pending: PendingRead, running: Promise<IteratorResult<unknown, unknown>>): Promise<boolean> {
    try {
      const { done, value } = await running
      if (done) pending.resolve(value)
      return done === true
    } catch (error) {
      const problem = error instanceof DatabaseFailure ? error.problem : null
      if (problem === 'aborted' || (!pending.isRetry && retriedOnce.includes(problem))) {
        pending.isRetry ||= problem !== 'aborted'
        this.#waiting.push(pending)
        void this.#runWaiting()
      } else pending.reject(rejectedAsUnavailable.includes(problem) ? unavailable(error) : error)
      return true
    }
  }
}

type Problem = DatabaseFailure['problem'] | null

/**
 * The failure may concern only this connection, or a migration locked two tables in the other order (deadlock).
 * `aborted` comes from another operation of the batch and is always retried.
 */
const retriedOnce: readonly Problem[] = ['unavailable', 'stale', 'conflict']
const rejectedAsUnavailable: readonly Problem[] = ['unavailable', 'busy', 'conflict']

async function inSnapshot(
  op: () => Op<unknown>,
  connection: PooledConnection,
  mayPause: boolean,
): Promise<IteratorResult<unknown>> {
  try {
    const [, step] = await Promise.all([
      connection.query(BEGIN),
      runOperation(op, connection, undefined, Number.POSITIVE_INFINITY, mayPause),
    ])
    return step
  } finally {
    if (connection.isSound) await connection.query('commit')
  }
}
