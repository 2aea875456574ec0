import type { LimitName } from '../contract/endpoint.js'

type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'

export interface RateLimit {
  readonly calls: number
  readonly seconds: number
}

export type RateLimitName = LimitName | 'credential_failures' | 'auth_failures'

export interface ServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 8420; 0 takes any free port. */
  readonly port?: number
  /** Keeps nothing after the end: SQLite in memory, keys in a private temporary folder. */
  readonly memory?: boolean
  /** Folder of the database and the keys; made with mode 0700 when absent. */
  readonly dataDir?: string
  /**
   * A PostgreSQL database that any number of servers share; the folder holds the keys alone then. What the URL leaves
   * out comes from the PG* variables and ~/.pgpass.
   */
  readonly databaseUrl?: string
  /** Credential keys from this file instead of the data folder. */
  readonly keyFile?: string
  /** The operator plane under /_platform/v1. Default: on when bound to loopback. */
  readonly operator?: boolean
  readonly autoApprove?: boolean
  readonly testClock?: boolean
  /** `off`, or limits that replace the defaults by name. */
  readonly rateLimits?: 'off' | Partial<Record<RateLimitName, RateLimit>>
  /** Addresses and CIDRs of proxies whose X-Forwarded-For is trusted. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Account JWTs are verified against this key set instead of the server's own key. */
  readonly jwksUrl?: string
  /** Ports of 127.0.0.1, [::1] and localhost that webhooks may name, http too; only when bound to loopback. */
  readonly webhookLoopbackPorts?: readonly number[]
  /** The addresses that deliveries come from, as getWebhookInfo reports them. Default: none. */
  readonly egressIps?: readonly string[]
  /** The encrypted transport; default on. */
  readonly secure?: boolean
  /** Refuse runtime calls in plain text with 426 (DECISIONS.md#required-encryption). */
  readonly requireSecure?: boolean
  /** Origins that may open encrypted sessions; default `*`: any, and none. */
  readonly allowedOrigins?: readonly string[]
  /** In the derivation of session keys; default `platform`. */
  readonly brand?: string
  readonly logLevel?: LogLevel
  /** Receives one JSON line a time; default stderr. */
  readonly logTo?: { write(line: string): void }
}

export interface RunningServer {
  /** `http://127.0.0.1:8420` */
  readonly baseUrl: string
  readonly pid: number
  readonly dataDir: string
  /** Null when the operator plane is off. */
  readonly operatorKeyFile: string | null
  /** `sqlite`, `memory` or `postgres` */
  readonly store: string
  /** Finishes what is in flight, checkpoints and closes; at most 10 s. */
  close(): Promise<void>
}
