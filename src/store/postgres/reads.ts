import type { Op } from '../operation.js'
import type { Sent } from './batch.js'
import { DatabaseFailure } from './errors.js'
import { Lanes } from './lanes.js'
import type { Connections, Lent } from './pool.js'
import { Steps } from './steps.js'
import { feedAll, inStep, unavailable } from './writes.js'

/** Connections that read at a time. */
const LANES_MAX = 3
/** Reads that share a round trip. */
const TOGETHER_MAX = 64

const BEGIN: Sent = { sql: 'begin transaction isolation level repeatable read, read only', params: [] }
const COMMIT: Sent = { sql: 'commit', params: [] }

interface Pending {
  readonly op: () => Op<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs read-only operations. Those of one tick go out side by side. Most are one statement, and are answered after
 * one round trip; those that turn out to have more begin again in a transaction that sees one state throughout.
 */
export class Reads {
  readonly #connections: Connections
  readonly #waiting: Pending[] = []
  readonly #lanes = new Lanes(LANES_MAX, () =>
    this.#waiting.length === 0 ? null : this.#answer(this.#waiting.splice(0, TOGETHER_MAX)),
  )

  constructor(connections: Connections) {
    this.#connections = connections
  }

  read<T>(op: () => Op<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ op, resolve: resolve as (value: unknown) => void, reject })
      this.#lanes.schedule()
    })
  }

  /** Resolves when nothing waits or runs any more. */
  drained(): Promise<void> {
    return this.#lanes.drained()
  }

  /** Settles all of them. */
  async #answer(batch: readonly Pending[], isRetry = false): Promise<void> {
    let left: readonly Pending[] = batch
    try {
      const connection = await this.#connections.lend()
      try {
        left = await together(connection, batch)
        if (left.length > 0) await inOneState(connection, left)
      } finally {
        connection.giveBack()
      }
    } catch (error) {
      const problem = error instanceof DatabaseFailure ? error.problem : null
      const isAway = problem === 'away' || problem === 'busy'
      // It may be the connection's: reads can be repeated.
      if ((problem === 'away' || problem === 'stale') && !isRetry) return this.#answer(left, true)
      if (isAway || left.length === 1) {
        const all = isAway ? [...left, ...this.#waiting.splice(0)] : left
        for (const { reject } of all) reject(isAway ? unavailable(error) : error)
      } else for (const pending of left) await this.#answer([pending])
    }
  }
}

/** One round trip of each; answers those that have more. */
async function together(connection: Lent, batch: readonly Pending[]): Promise<readonly Pending[]> {
  const all = batch.map(({ op }) => new Steps(op, false))
  const asking = all.filter((it) => !it.done)
  if (asking.length > 0) await feedAll(connection, [], asking)
  return settle(batch, all)
}

async function inOneState(connection: Lent, batch: readonly Pending[]): Promise<void> {
  const all = batch.map(({ op }) => new Steps(op, false))
  try {
    await inStep(connection, BEGIN, all)
  } finally {
    if (connection.sound) await connection.send([COMMIT])
  }
  settle(batch, all)
}

/** Answers what is done; those that are not. */
function settle(batch: readonly Pending[], all: readonly Steps[]): readonly Pending[] {
  return batch.filter(({ resolve }, index) => {
    const it = all[index] as Steps
    if (it.done) resolve(it.value)
    return !it.done
  })
}
