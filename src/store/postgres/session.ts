import { clearTimeout, setTimeout } from 'node:timers'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, type ClientBase, type ClientConfig } from 'pg'

export interface SessionConfig extends ClientConfig {
  /** Names and values of session settings, such as `search_path`; the timeouts are members of their own. */
  readonly settings?: readonly (readonly [name: string, value: string])[]
}

const TIMEOUTS = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'] as const
const UNSET = { settings: [], lock_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 }
const SET = 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) as it (name, value)'

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

  override connect(): Promise<this>
  override connect(done: (error: Error) => void): void
  override connect(done?: (error: Error) => void): Promise<this> | undefined {
    const begun = this.#begin()
    if (done === undefined) return begun
    begun.then(() => (done as () => void)(), done)
    return
  }

  async #begin(): Promise<this> {
    await super.connect()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      closeNow(this)
    }, this.#config.connectionTimeoutMillis)
    try {
      await this.prepare(this.#config)
      return this
    } catch (error) {
      closeNow(this)
      throw isLate ? Object.assign(new Error('no statement ran in time'), { code: 'NO_SESSION' }) : error
    } finally {
      clearTimeout(timer)
    }
  }

  protected async prepare(config: SessionConfig): Promise<void> {
    const timeouts = TIMEOUTS.flatMap((name) => (config[name] ? [[name, String(config[name])] as const] : []))
    const settings = [...(config.settings ?? []), ...timeouts]
    if (settings.length > 0) await this.query(SET, [settings.map(([name]) => name), settings.map(([, value]) => value)])
  }
}

/**
 * The first connection of a command. It refuses a pooler that changes the session between statements before it sets
 * anything, because the settings would stay in sessions of other clients.
 * @throws an error with the code STORE_POOLED, on connecting
 */
export class FirstSession extends Session {
  protected override async prepare(config: SessionConfig): Promise<void> {
    // PostgreSQL names the process of a connection when it begins; a pooler names an invented number.
    const { processID } = this as unknown as { readonly processID: number }
    if ((await pidOf(this)) !== processID && (await isShared(this, config))) {
      throw Object.assign(new Error('the sessions of the pooler are shared'), { code: 'STORE_POOLED' })
    }
    await super.prepare(config)
  }
}

const pidOf = async (client: Client) =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid

/**
 * Returns true if an open connection changes its process, or another one gets the same. The order finds both in every
 * pooler that lends the session returned last, or the one that is unused for the longest time.
 */
async function isShared(client: Client, config: SessionConfig): Promise<boolean> {
  const other = new Session({ ...config, ...UNSET })
  try {
    await other.connect()
    const [own, others] = [new Set<number | undefined>(), new Set<number | undefined>()]
    for (let round = 0; round < ROUNDS; round++) {
      for (let time = 0; time < 2; time++) own.add(await pidOf(client))
      const pid = await Promise.race([pidOf(other), wait(FREE_MS_MAX, null, { ref: false })])
      // The pooler has no other session, and keeps this one for its client.
      if (pid === null) break
      others.add(pid)
    }
    // Only a connection that is still open proves that its process was not a new one with the same number.
    own.add(await pidOf(client))
    return own.size + others.size > 2 || [...others].some((pid) => own.has(pid))
  } finally {
    closeNow(other)
  }
}

/** Closes a connection also in the middle of a statement. */
export const closeNow = (client: ClientBase): void => void (client as Client).connection.stream.destroy()
