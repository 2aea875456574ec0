import { setTimeout as wait } from 'node:timers/promises'
import { Client, type ClientBase, type ClientConfig } from 'pg'
import { StoreUnusable } from '../store.js'

export interface SessionConfig extends ClientConfig {
  /** Session settings such as `search_path`; the timeouts are members of their own. */
  readonly settings?: Readonly<Record<string, string>>
  /**
   * State of all connections of a store: whether the first one found that it keeps its session. A connection without
   * this state sets nothing.
   */
  readonly pooler?: { keepsSessions: boolean }
}

const SET = 'select set_config(key, value, false) from json_each_text($1)'

/** Rounds of the search for a shared session, during which other clients of the pooler may take sessions. */
const ROUNDS = 3
/** Ms without a response after which a pooler has no session for another client. */
const FREE_MS_MAX = 1_000

/** A connection that sends its settings when it is open, because poolers refuse them as startup parameters. */
export class Session extends Client {
  readonly #config: SessionConfig

  constructor(config: SessionConfig) {
    super(config)
    this.#config = config
    // Statements of a connection that ends in use fail anyway.
    this.on('error', () => {})
  }

  /** Replaces a method of pg, which would also send PGOPTIONS and the timeouts. */
  getStartupConf() {
    return { user: this.user, database: this.database, application_name: this.#config.application_name }
  }

  /** @throws StoreUnusable with STORE_POOLED */
  override connect(done?: (...args: never[]) => void): Promise<this> {
    const begun = this.#begin(this.#config)
    if (done !== undefined) begun.then(() => (done as () => void)(), done as (error: unknown) => void)
    return begun
  }

  async #begin({ connectionTimeoutMillis: ms }: SessionConfig): Promise<this> {
    await super.connect()
    const late = wait(ms, Object.assign(new Error('no statement ran in time'), { code: 'NO_SESSION' }), { ref: false })
    const failure = await Promise.race([this.#prepare(this.#config).catch((it: unknown) => it), late])
    if (failure === undefined) return this
    closeNow(this)
    throw failure
  }

  async #prepare({ pooler, settings, ...config }: SessionConfig): Promise<void> {
    if (pooler === undefined) return
    // Before the settings, which would stay in sessions of other clients.
    if (!pooler.keepsSessions && (await isShared(this, config))) {
      throw new StoreUnusable('STORE_POOLED', `postgres://${this.host}:${this.port}/${this.database} ${POOLED}`)
    }
    pooler.keepsSessions = true
    const { lock_timeout, statement_timeout, idle_in_transaction_session_timeout } = config
    const timeouts = { lock_timeout, statement_timeout, idle_in_transaction_session_timeout }
    await this.query(SET, [JSON.stringify({ ...settings, ...timeouts })])
  }
}

const POOLED =
  'is behind a pooler that changes the session between statements, which loses time limits and locks. Set pool_mode = session in pgbouncer.ini, or name the address of PostgreSQL itself.'

const pidOf = async (client: Client) => Number((await client.query('select pg_backend_pid() as pid')).rows[0].pid)

/**
 * Returns true if a connection continues in another process of PostgreSQL, or if another connection gets its process.
 * The order finds a pooler that lends the session returned last, or the one that is unused for the longest time.
 */
async function isShared(client: Client, config: SessionConfig): Promise<boolean> {
  const pid = await pidOf(client)
  // PostgreSQL names the process of a connection when it begins; a pooler names an invented number.
  if (pid === (client as unknown as { readonly processID: number }).processID) return false
  const other = new Session(config)
  try {
    await other.connect()
    for (let round = 0; round < ROUNDS; round++) {
      if ((await pidOf(client)) !== pid) return true
      const asked = pidOf(other)
      let its = await Promise.race([asked, wait(FREE_MS_MAX, null, { ref: false })])
      // Other clients may use all sessions: a pooler that lends this one too responds in the order of the statements.
      its ??= await Promise.race([asked, pidOf(client).then(() => null)])
      // The pooler has no other session, and keeps this one for its client.
      if (its === null) return false
      // Only a connection that is still open proves that the process is not a new one with the same number.
      if (its === pid) return pidOf(client).then(() => true)
    }
    return false
  } finally {
    closeNow(other)
  }
}

/** Closes a connection also in the middle of a statement. */
export const closeNow = (client: ClientBase): void => void (client as Client).connection.stream.destroy()
