import process from 'node:process'
import { clearTimeout, setTimeout } from 'node:timers'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import type { Value } from '../operation.js'
import type { PoolSize, StoreMetrics } from '../store.js'
import { Batch, type Query, type Result, Statements } from './batch.js'
import { DatabaseFailure } from './errors.js'
import type { PrimaryGuard } from './primary.js'
import { Session, type SessionConfig } from './session.js'

/** Connections per process (PostgreSQL allows 100), in pools: writes that wait for a row and long reads block no reads. */
export const CONNECTIONS_MAX = { reads: 3, longReads: 2, writes: 6 }
/** Maximum wait in ms for a new connection: without a database, calls soon get a response. */
const CONNECT_MS_MAX = 2_000
/**
 * Maximum wait in ms for a connection that other calls use. It is longer, because calls of others must not refuse a
 * call. With RESPONSE_MS_MAX, calls get a response within 11 s.
 */
const FREE_MS_MAX = 5_000
/** Maximum wait in ms for a row that another transaction has locked (rules/calls.md#keys-in-flight). */
const LOCK_MS_MAX = 5_000
const STATEMENT_MS_MAX = 5_500
/** Maximum idle ms in a transaction: limits how long a suspended process can lock rows. */
const IDLE_MS_MAX = 10_000
/** Maximum ms for a response, after which the client closes the connection; PostgreSQL's own limits are shorter. */
const RESPONSE_MS_MAX = 6_000

/** Timeouts of connections that run operations; migrations have their own. */
export const timeouts = {
  connectionTimeoutMillis: CONNECT_MS_MAX,
  lock_timeout: LOCK_MS_MAX,
  statement_timeout: STATEMENT_MS_MAX,
  idle_in_transaction_session_timeout: IDLE_MS_MAX,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
}

/** The pool has one limit for both waits, so its clients bring theirs. */
class PoolMember extends Session {
  constructor(config?: SessionConfig) {
    // The pool hides the password from a copy.
    super({ ...config, password: config?.password, connectionTimeoutMillis: CONNECT_MS_MAX })
  }
}

/** A connection lent for one transaction or one batch of reads. */
export class PooledConnection {
  readonly #client: PoolClient
  readonly #statements: Statements
  readonly #distrust: () => void
  #waiting: Query[] = []
  #isSound = true

  /** @param distrust makes the pool replace all other connections, which are probably unusable too */
  constructor(client: PoolClient, statements: Statements, distrust: () => void) {
    this.#client = client
    this.#statements = statements
    this.#distrust = distrust
  }

  /** Runs a statement; all statements of one tick share a batch. @throws DatabaseFailure: `aborted` after a failure */
  query(sql: string, params: readonly Value[] = []): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) process.nextTick(() => this.#send())
      this.#waiting.push({ sql, params, resolve, reject })
    })
  }

  get isSound(): boolean {
    return this.#isSound
  }

  /** Returns the connection to the pool; do not use it afterwards. */
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

const sizeOf = ({ totalCount, idleCount, waitingCount, options }: Pool): PoolSize => ({
  connections: totalCount,
  connections_idle: idleCount,
  connections_max: options.max,
  waiting: waitingCount,
})

export class Connections {
  readonly #pools: Readonly<Record<keyof typeof CONNECTIONS_MAX, Pool>>
  readonly #statements = new WeakMap<PoolClient, Statements>()
  /** Connections opened since the last outage or migration. The pool replaces older connections before they fail. */
  #trusted = new WeakSet<PoolClient>()
  readonly #guard: PrimaryGuard
  readonly metrics: StoreMetrics = {
    onCommit() {},
    pools: () => Object.fromEntries(Object.entries(this.#pools).map(([name, pool]) => [name, sizeOf(pool)])),
  }

  constructor(config: PoolConfig, guard: PrimaryGuard) {
    this.#guard = guard
    const poolOf = (max: number) => {
      // A forgotten server inside a test must not keep the process alive: only calls do.
      const limits = { ...timeouts, connectionTimeoutMillis: FREE_MS_MAX, max, idleTimeoutMillis: 0 }
      const pool = new Pool({ ...config, ...limits, Client: PoolMember, allowExitOnIdle: true })
      // The pool removes an idle connection that ends; the next call opens a new one.
      pool.on('error', () => {})
      return pool
    }
    const { reads, longReads, writes } = CONNECTIONS_MAX
    this.#pools = { reads: poolOf(reads), longReads: poolOf(longReads), writes: poolOf(writes) }
  }

  /** @throws DatabaseFailure when no connection is available */
  async lend(purpose: keyof typeof CONNECTIONS_MAX): Promise<PooledConnection> {
    for (;;) {
      const client = await this.#pools[purpose].connect().catch((error: unknown) => {
        throw new DatabaseFailure(error)
      })
      const known = this.#statements.get(client)
      const statements = known ?? new Statements()
      const connection = new PooledConnection(client, statements, () => {
        this.#trusted = new WeakSet()
      })
      if (known === undefined) {
        await this.#guard
          .admit(client, (sql) => connection.query(sql))
          .catch((error: unknown) => {
            client.release(true)
            throw error
          })
        this.#statements.set(client, statements)
        this.#trusted.add(client)
      }
      if (this.#trusted.has(client)) {
        // In a separate batch: the isolation level of a transaction must precede all other statements of its batch.
        if (statements.needReplan()) await connection.query('discard plans').catch(() => {})
        return connection
      }
      client.release(true)
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.end()))
  }
}
