import { clearTimeout, setTimeout } from 'node:timers'
import { Pool, type PoolClient, type PoolConfig } from 'pg'
import { Batch, type Result, type Sent, Statements } from './batch.js'
import { DatabaseFailure } from './errors.js'

/** Of one process: PostgreSQL admits 100 by default. */
const CONNECTIONS_MAX = 10
/** So long a call waits for a connection, or for a new one to be made. */
const CONNECT_MS_MAX = 3_000
/** Longest wait for a row that another transaction holds (DECISIONS.md#keys-in-flight). */
const LOCK_MS_MAX = 5_000
const STATEMENT_MS_MAX = 5_500
/** A process that stops in the middle of a transaction holds its rows no longer than this. */
const IDLE_MS_MAX = 10_000
/** The server keeps the times above; where its answer does not come at all, the connection is given up. */
const ANSWER_MS_MAX = 7_000

/** What every connection is made with; of operations, not of migrations. */
export const timeouts = {
  connectionTimeoutMillis: CONNECT_MS_MAX,
  lock_timeout: LOCK_MS_MAX,
  statement_timeout: STATEMENT_MS_MAX,
  idle_in_transaction_session_timeout: IDLE_MS_MAX,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
}

/** A connection for the length of one transaction. */
export class Lent {
  readonly #client: PoolClient
  readonly #statements: Statements
  readonly #distrust: () => void
  #sound = true

  /** @param distrust called when other connections from before are no better */
  constructor(client: PoolClient, statements: Statements, distrust: () => void) {
    this.#client = client
    this.#statements = statements
    this.#distrust = distrust
  }

  /** Statements side by side. @throws DatabaseFailure for the first that fails; what follows it was not done */
  send(sent: readonly Sent[]): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      let silent = false
      const overdue = setTimeout(() => {
        silent = true
        this.#distrust()
        this.#client.connection.stream.destroy()
      }, ANSWER_MS_MAX)
      const settle = (error: Error | null, results: readonly Result[]) => {
        clearTimeout(overdue)
        if (error === null) return resolve(results)
        const failure = new DatabaseFailure(error, silent)
        if (failure.problem === 'stale') this.#distrust()
        if (failure.problem === 'stale' || failure.isOutage) this.#sound = false
        reject(failure)
      }
      try {
        this.#client.query(new Batch(sent, this.#statements, settle))
      } catch (error) {
        // A bug on the way out: what was sent of it is not known.
        clearTimeout(overdue)
        this.#sound = false
        reject(error)
      }
    })
  }

  get sound(): boolean {
    return this.#sound
  }

  /** Must not be used afterwards. */
  giveBack(): void {
    this.#client.release(!this.#sound)
  }
}

export class Connections {
  readonly #pool: Pool
  readonly #statements = new WeakMap<PoolClient, Statements>()
  /** Connections from before one fell silent, or found another schema, are no better, and would each be tried. */
  #trusted = new WeakSet<PoolClient>()

  constructor(config: PoolConfig) {
    this.#pool = new Pool({ ...config, ...timeouts, max: CONNECTIONS_MAX, idleTimeoutMillis: 0 })
    // One that ends while nobody uses it leaves the pool; the next call makes another.
    this.#pool.on('error', () => {})
    // One that ends while it is lent fails what is sent over it; it may end in the same piece that opened it.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /** @throws DatabaseFailure when no connection can be had */
  async lend(): Promise<Lent> {
    for (;;) {
      const client = await this.#pool.connect().catch((error: unknown) => {
        throw new DatabaseFailure(error)
      })
      let statements = this.#statements.get(client)
      if (statements === undefined) {
        statements = new Statements()
        this.#statements.set(client, statements)
        this.#trusted.add(client)
      }
      if (this.#trusted.has(client)) {
        return new Lent(client, statements, () => {
          this.#trusted = new WeakSet()
        })
      }
      client.release(true)
    }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}
