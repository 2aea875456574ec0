import { Socket } from 'node:net'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Client } from 'pg'
import { HOLD_KEYS } from './key-locks.js'
import { timeouts } from './pool.js'
import type { PrimaryGuard } from './primary.js'
import { closeNow, Session, type SessionConfig } from './session.js'

const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 2_000
/** Interval of a probe query, which detects a connection that was lost without an error. */
const PROBE_INTERVAL_MS = 5_000
const PROBE_MS_MAX = 3_000

/**
 * SQL for the name of the NOTIFY channel. All programs and schemas of a database share its channels, so the name
 * contains this program and the schema.
 */
export const CHANNEL = "'voucherctl_' || (select relnamespace from pg_class where oid = 'credential_keys'::regclass)"

export interface NoticeHandlers {
  payload(text: string): void
  /** Called after a reconnect: notices may have been lost. */
  missed(): void
}

/** The connection that receives notices from other processes; reconnects until the store closes. */
export class Listener {
  readonly #config: SessionConfig
  readonly #handlers: NoticeHandlers
  readonly #hold: string | undefined
  readonly #guard: PrimaryGuard
  #client: Client | null = null
  #timer: NodeJS.Timeout | undefined
  #retryMs = RETRY_MS_MIN
  #keyIds: readonly string[] = []
  #closed = false

  /** @param hold SQL that takes a session lock, run on each new connection */
  constructor(config: SessionConfig, handlers: NoticeHandlers, guard: PrimaryGuard, hold?: string) {
    this.#guard = guard
    this.#config = config
    this.#handlers = handlers
    this.#hold = hold
  }

  /** @throws when the database cannot be reached */
  async open(): Promise<void> {
    const client = new Session({ ...this.#config, ...timeouts, query_timeout: PROBE_MS_MAX })
    client.on('notification', ({ payload }) => this.#handlers.payload(payload ?? ''))
    try {
      await client.connect()
      await this.#guard.admit(client, (sql) => client.query(sql))
      const { rows } = await client.query<{ channel: string }>(`select ${CHANNEL} as channel`)
      await client.query(`listen "${rows[0]?.channel}"`)
      if (this.#hold !== undefined) await client.query(this.#hold)
      if (this.#keyIds.length > 0) await client.query(HOLD_KEYS, [this.#keyIds])
    } catch (error) {
      closeNow(client)
      throw error
    }
    if (this.#closed) return client.end()
    // A forgotten server inside a test must not keep the process alive.
    const { stream } = client.connection
    if (stream instanceof Socket) stream.unref()
    this.#client = client
    this.#retryMs = RETRY_MS_MIN
    client.once('end', () => this.#lost(client))
    this.#probeLater(client)
  }

  /** Takes the locks of these credential keys, and takes them again on each new connection. */
  async holdKeys(keyIds: readonly string[]): Promise<void> {
    if (this.#client === null) throw new Error('the connection ended')
    this.#keyIds = keyIds
    await this.#client.query(HOLD_KEYS, [keyIds])
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
    await client?.end()
  }

  #probeLater(client: Client): void {
    this.#timer = setTimeout(() => {
      Promise.all([client.query('select 1'), this.#guard.look(this.#config)]).then(
        () => this.#client === client && this.#probeLater(client),
        () => closeNow(client),
      )
    }, PROBE_INTERVAL_MS)
    this.#timer.unref()
  }

  #lost(client: Client): void {
    if (this.#client !== client) return
    this.#client = null
    clearTimeout(this.#timer)
    this.#openLater()
  }

  #openLater(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.open().then(
        () => this.#handlers.missed(),
        () => this.#openLater(),
      )
    }, this.#retryMs)
    this.#timer.unref()
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX)
  }
}
