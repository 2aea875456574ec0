import process from 'node:process'
import { clearTimeout, setTimeout } from 'node:timers'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import type { Value } from '../operation.js'
import { Batch, type Query, type Result, Statements } from './batch.js'
import { DatabaseFailure } from './errors.js'

/** Per process: PostgreSQL admits 100 by default. Writes that wait for a row must not take all connections of reads. */
const CONNECTIONS_MAX = { reads: 3, writes: 6 }
/** Limit of waiting for a free connection, and of making a new one. */
const CONNECT_MS_MAX = 3_000
/** Longest wait for a row that another transaction holds (DECISIONS.md#keys-in-flight). */
const LOCK_MS_MAX = 5_000
const STATEMENT_MS_MAX = 5_500
/** A process that stops in the middle of a transaction holds its rows no longer than this. */
const IDLE_MS_MAX = 10_000
/** The server enforces the limits above; a connection on which it does not respond at all is given up. */
const RESPONSE_MS_MAX = 7_000

/** Limits of every connection that runs operations; migrations have others. */
export const timeouts = {
  connectionTimeoutMillis: CONNECT_MS_MAX,
  lock_timeout: LOCK_MS_MAX,
  statement_timeout: STATEMENT_MS_MAX,
  idle_in_transaction_session_timeout: IDLE_MS_MAX,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
}

/** A connection for the length of one transaction, or of one batch of reads. */
export class PooledConnection {
  readonly #client: PoolClient
  readonly #statements: Statements
  readonly #distrust: () => void
  #waiting: Query[] = []
  #isSound = true

  /** @param distrust called when the other connections of the process cannot be better */
  constructor(client: PoolClient, statements: Statements, distrust: () => void) {
    this.#client = client
    this.#statements = statements
    this.#distrust = distrust
    if (statements.needReplan()) this.query('discard plans').catch(() => {})
  }

  /** Statements of one tick go out in one batch. @throws DatabaseFailure; `aborted` if one before it has failed */
  query(sql: string, params: readonly Value[] = []): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) process.nextTick(() => this.#send())
      this.#waiting.push({ sql, params, resolve, reject })
    })
  }

  get isSound(): boolean {
    return this.#isSound
  }

  /** Must not be used afterwards. */
  release(): void {
    this.#client.release(!this.#isSound)
  }

  #send(): void {
    let isSilent = false
    const timer = setTimeout(() => {
      isSilent = true
      this.#distrust()
      this.#client.connection.stream.destroy()
    }, RESPONSE_MS_MAX)
    const settled = (error?: Error) => {
      clearTimeout(timer)
      if (error === undefined) return
      const failure = new DatabaseFailure(error, isSilent)
      if (failure.problem === 'stale') this.#distrust()
      if (failure.problem === 'stale' || failure.isOutage) this.#isSound = false
      return failure
    }
    this.#client.query(new Batch(this.#waiting.splice(0), this.#statements, settled))
  }
}

export class Connections {
  readonly #pools: Readonly<Record<keyof typeof CONNECTIONS_MAX, Pool>>
  readonly #statements = new WeakMap<PoolClient, Statements>()
  /** Replaced once a connection is silent or finds another schema: those made before it would fail one by one. */
  #trusted = new WeakSet<PoolClient>()

  constructor(config: PoolConfig) {
    const poolOf = (max: number) => {
      const pool = new Pool({ ...config, ...timeouts, max, idleTimeoutMillis: 0 })
      // An idle connection that ends leaves the pool; the next call makes another.
      pool.on('error', () => {})
      // One that ends in use fails its statements; it may end in the same packet that opened it.
      pool.on('connect', (client) => client.on('error', () => {}))
      return pool
    }
    this.#pools = { reads: poolOf(CONNECTIONS_MAX.reads), writes: poolOf(CONNECTIONS_MAX.writes) }
  }

  /** @throws DatabaseFailure when no connection can be had */
  async lend(purpose: keyof typeof CONNECTIONS_MAX): Promise<PooledConnection> {
    for (;;) {
      const client = await this.#pools[purpose].connect().catch((error: unknown) => {
        throw new DatabaseFailure(error)
      })
      let statements = this.#statements.get(client)
      if (statements === undefined) {
        statements = new Statements()
        this.#statements.set(client, statements)
        this.#trusted.add(client)
      }
      if (this.#trusted.has(client)) {
        return new PooledConnection(client, statements, () => {
          this.#trusted = new WeakSet()
        })
      }
      client.release(true)
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.end()))
  }
}
