import type { RateLimit, RateLimitName } from '../contract/rate-limits.js'
import type { StoredSnapshot } from '../store/snapshots.js'
import type { Seed } from './seed/schema.js'

type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface ServerOptions {
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string
  /** Port; default 8420, or the next free of 20; 0 takes any free port. */
  readonly port?: number
  /** Stores nothing permanently: SQLite in memory, keys in a private temporary folder that the server deletes. */
  readonly memory?: boolean
  /** Folder of the database and the keys, required without `memory`; created with mode 0700 if absent. */
  readonly dataDir?: string
  /**
   * A PostgreSQL database that any number of servers may share; the folder then holds only the keys. The PG* variables
   * and ~/.pgpass supply missing parts of the URL.
   */
  readonly databaseUrl?: string
  /** Loads the credential keys from this file instead of the data folder. */
  readonly keyFile?: string
  /** Starts a data folder on a store that it does not belong to (rules/server.md#data-folder). */
  readonly newStore?: boolean
  /** Records planted in an empty store before the first call; another store must have them (rules/server.md#seeds). */
  readonly seed?: Seed
  /** The operator API under /_platform/v1. Default: on when bound to loopback. */
  readonly operator?: boolean
  /** Lets the operator API reset the server and restore snapshots. Default: when bound to loopback. */
  readonly allowReset?: boolean
  readonly autoApprove?: boolean
  /** Captures exchanges from the start, even if nobody follows the activity. */
  readonly inspect?: boolean
  readonly testClock?: boolean
  /** `off`, or rate limits that replace the default limits of the same names. */
  readonly rateLimits?: 'off' | Partial<Record<RateLimitName, RateLimit>>
  /** Addresses and CIDRs of proxies whose X-Forwarded-For is trusted. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Verifies account JWTs with this key set instead of the server's own key. */
  readonly jwksUrl?: string
  /** Ports of 127.0.0.1, [::1] and localhost that webhooks may use, even with http; only when bound to loopback. */
  readonly webhookLoopbackPorts?: readonly number[]
  /** For temporary servers: webhooks may use only loopback hosts, with these ports or any from 1024. */
  readonly webhookLoopbackOnly?: boolean
  /** Source addresses of deliveries, which getWebhookInfo reports. Default: none. */
  readonly egressIps?: readonly string[]
  /** The encrypted transport; default on. */
  readonly secure?: boolean
  /** Refuses runtime calls in plain text with 426 (rules/encryption.md#required-encryption). */
  readonly requireSecure?: boolean
  /** Origins that may open encrypted sessions; default `*`: any origin, and requests without an Origin header. */
  readonly allowedOrigins?: readonly string[]
  /** Brand name, an input of the derivation of session keys; default `platform`. */
  readonly brand?: string
  readonly logLevel?: LogLevel
  /** Receives log lines in JSON; default stderr. */
  readonly logTo?: { write(line: string): void }
  /** Formats the log lines for stderr; default JSON. */
  readonly formatLog?: (line: string) => string
  /** Makes the command that starts this server again on a port, without secrets, for the page; default: none. */
  readonly startCommand?: (port: string) => string
  /** Folder in which the server lists itself while it runs; default: none. */
  readonly registryDir?: string
}

/** Snapshot functions for the program that embeds a server (rules/operator.md#snapshots). */
export interface ServerSnapshots {
  /** Returns to the state at the start, the seed or an empty store, and to the system time. */
  reset(): Promise<void>
  /** Stores the state and the time under a name; replaces a snapshot of the same name. */
  save(name: string): Promise<StoredSnapshot>
  /** Returns to a snapshot and keeps it. `outdated`: another version with another schema saved it. */
  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'>
  /** All snapshots, oldest first. */
  list(): Promise<StoredSnapshot[]>
  /** Removes a snapshot; undefined if no snapshot has this name. */
  remove(name: string): Promise<StoredSnapshot | undefined>
}

export interface RunningServer {
  /** Base URL, such as `http://127.0.0.1:8420`. */
  readonly baseUrl: string
  readonly pid: number
  readonly dataDir: string
  /** Null when the operator API is off. */
  readonly operatorKeyFile: string | null
  /** Kind of store: `sqlite`, `memory` or `postgres`. */
  readonly store: string
  /** The PostgreSQL database, without user and password. */
  readonly database?: string
  /** How far the test clock is from the true time at the start, such as `31 days ahead`; absent for none. */
  readonly testClock?: string
  /** Whether this start wrote the seed or found it in the store; absent without a seed. */
  readonly seed?: 'planted' | 'present'
  /** Replaces the state by the records of a seed; after a failure the state is as before. */
  replant(seed: Seed): Promise<void>
  /** Stops the server after the requests and deliveries in flight; takes at most 10 s. */
  close(): Promise<void>
}
