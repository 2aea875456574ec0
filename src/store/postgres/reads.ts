import { setImmediate } from 'node:timers/promises'
import type { Op, Pending } from '../operation.js'
import { DatabaseFailure, unavailable } from './errors.js'
import { perform } from './perform.js'
import type { Connections, PooledConnection } from './pool.js'

/** Reads that share a connection, so that one slow read delays no more than these. */
const BATCH_MAX = 64

const BEGIN = 'begin transaction isolation level repeatable read, read only'

type PendingRead = Pending & { isRetry: boolean }

/**
 * Runs read-only operations, many on one connection. Most have one step; those that have more begin again in a
 * transaction that sees one snapshot.
 */
export class Reads {
  readonly #connections: Connections
  readonly #waiting: PendingRead[] = []
  #isLending = false

  constructor(connections: Connections) {
    this.#connections = connections
  }

  read<T>(op: () => Op<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ op, resolve: resolve as (value: unknown) => void, reject, isRetry: false })
      void this.#runWaiting()
    })
  }

  /** Runs what has gathered until a connection is free. */
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
        // Reads that came since then make an attempt of their own: the database may be back.
        for (const { reject } of this.#waiting.splice(0, length)) reject(unavailable(cause))
      }
    }
    this.#isLending = false
  }

  async #runBatch(batch: readonly PendingRead[], connection: PooledConnection): Promise<void> {
    const first = await Promise.all(
      batch.map((it) =>
        this.#settle(it, perform(it.op, connection, undefined, 1)).then((isDone) => (isDone ? [] : it)),
      ),
    )
    for (const it of first.flat()) await this.#settle(it, inSnapshot(it.op, connection))
    connection.release()
  }

  /** @returns whether there is nothing left to do */
  async #settle(pending: PendingRead, running: Promise<IteratorResult<unknown, unknown>>): Promise<boolean> {
    try {
      const { done, value } = await running
      if (done) pending.resolve(value)
      return done === true
    } catch (error) {
      const problem = error instanceof DatabaseFailure ? error.problem : null
      if (problem === 'aborted' || (!pending.isRetry && (problem === 'away' || problem === 'stale'))) {
        // The failure is another operation's, or perhaps this connection's alone.
        pending.isRetry ||= problem !== 'aborted'
        this.#waiting.push(pending)
        void this.#runWaiting()
      } else pending.reject(problem === 'away' || problem === 'busy' ? unavailable(error) : error)
      return true
    }
  }
}

async function inSnapshot(op: () => Op<unknown>, connection: PooledConnection): Promise<IteratorResult<unknown>> {
  try {
    const [, step] = await Promise.all([connection.query(BEGIN), perform(op, connection)])
    return step
  } finally {
    if (connection.isSound) await connection.query('commit')
  }
}
