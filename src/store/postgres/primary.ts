import { clearTimeout, setTimeout } from 'node:timers'
import type { ClientBase } from 'pg'
import { DatabaseFailure } from './errors.js'
import { closeNow, Session, type SessionConfig } from './session.js'

const ADMIT_MS_MAX = 2_000
const RECOVERY = 'select pg_is_in_recovery()::int as recovers'
/** The timeline is the first part of the name of a WAL file; every user may read it, but not on a standby. */
const TIMELINE = `select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline`

type Ask = (sql: string) => Promise<{ readonly rows: readonly unknown[] }>

/**
 * Admits connections to the newest primary only. A promotion begins a new timeline of the database. A connection to a
 * former primary, which may still run, would read and write what the new primary does not have.
 */
export class PrimaryGuard {
  /** The newest timeline of all connections so far. */
  #newest = 0
  readonly #admitted = new Map<ClientBase, number>()

  /**
   * Closes a connection that does not respond in time.
   * @param ask runs SQL on the connection
   * @throws DatabaseFailure for a standby or a former primary
   */
  async admit(client: ClientBase, ask: Ask): Promise<void> {
    const late = setTimeout(() => closeNow(client), ADMIT_MS_MAX)
    try {
      await this.#admit(client, ask)
    } finally {
      clearTimeout(late)
    }
  }

  /** Looks where a new connection leads: after a failover all others may still be connected to the former primary. */
  async look(config: SessionConfig): Promise<void> {
    const client = new Session({ ...config, connectionTimeoutMillis: ADMIT_MS_MAX })
    try {
      await client.connect()
      await this.admit(client, (sql) => client.query(sql))
      await client.end()
    } catch {
      closeNow(client)
    }
  }

  async #admit(client: ClientBase, ask: Ask): Promise<void> {
    const [{ recovers }] = (await ask(RECOVERY)).rows as [{ recovers: number }]
    if (recovers === 1) throw refused('the server is a standby')
    const timeline = await ask(TIMELINE).then(
      ({ rows }) => (rows as [{ timeline: number }])[0].timeline,
      // Services that are compatible with PostgreSQL may lack these functions.
      (error: unknown) => {
        const failure = error instanceof DatabaseFailure ? error : new DatabaseFailure(error)
        if (failure.isOutage) throw failure
        return this.#newest
      },
    )
    if (timeline < this.#newest) throw refused(`the server is a former primary (timeline ${timeline})`)
    this.#newest = timeline
    this.#admitted.set(client, timeline)
    client.once('end', () => this.#admitted.delete(client))
    for (const [other, older] of this.#admitted) if (older < timeline) closeNow(other)
  }
}

const refused = (message: string) => new DatabaseFailure({ code: '25006', severity: 'FATAL', message })
