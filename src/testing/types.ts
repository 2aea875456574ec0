import type { Client } from '../client/index.js'
import type { Transport } from '../client/transport.js'
import type { Message } from '../contract/chats.js'
import type { faultKinds } from '../contract/platform/controls.js'
import type { RateLimit, RateLimitName } from '../contract/rate-limits.js'
import type { UpdateType } from '../contract/updates.js'
import type { Redemption, Voucher } from '../contract/vouchers.js'
import type { Seed } from '../server/seed/schema.js'

export type { Client } from '../client/index.js'
export type { Seed } from '../server/seed/schema.js'

/**
 * Starts a server in this process, with a database of its own.
 * @throws TypeError or RangeError that names a wrong option; an error with a `code` if the server cannot start
 */
export type StartServer = (options?: StartOptions) => Promise<TestServer>

export interface StartOptions {
  /** Records that the server begins with, or the path of a seed file. Default: `app_shop` with `tpl_coffee` and `bot_shop`. */
  readonly seed?: Seed | string
  /** Approves templates and bots when they are submitted; default false. */
  readonly autoApprove?: boolean
  /**
   * The test clock, which `clock.advance` moves: true starts it at the true time, a Date or an instant in RFC 3339 at that
   * time. Default: true; false with `databaseUrl`, where other values are refused.
   */
  readonly clock?: boolean | Date | string
  /** The encrypted transport; default true. With `required` the server refuses voucher calls in plain text. */
  readonly secure?: boolean | 'required'
  /** A PostgreSQL database, in which the server creates a schema of its own and drops it at the end. Default: SQLite. */
  readonly databaseUrl?: string
  /** True sets the rate limits of a real server, an object replaces some of them; default false: no limits. */
  readonly rateLimit?: boolean | Partial<Record<RateLimitName, RateLimit>>
  /** False opens no port: only `client`, `operator` and `transport` reach the server. Default true: a free port. */
  readonly listen?: boolean
}

export interface TestServer extends AsyncDisposable {
  /** Address of the server, for the program under test. @throws TestingError NO_PORT with `listen: false` */
  readonly baseUrl: string
  /** Calls the server in this process with the first credentials of the seed; never retries. */
  readonly client: Client
  /** The operator API, such as `operator.approveTemplate({ templateId })`. */
  readonly operator: Client['platform']
  /** Sends requests to the server in this process: `createClient({ baseUrl, token, transport })`. */
  readonly transport: Transport
  /** First application token of the seed, for the program under test; empty without one. */
  readonly token: string
  /** Key of the operator API, for the program under test. */
  readonly operatorKey: string
  /** The records that the server began with. */
  readonly seed: Seed
  readonly clock: ClockControl
  readonly faults: FaultControl
  /**
   * Resolves to the next update of a type that a bot gets by webhook: verified, in order of arrival, each once.
   * @throws TestingError UPDATE_NOT_RECEIVED with what did arrive
   */
  receive<T extends UpdateType>(type: T, options?: ReceiveOptions): Promise<ReceivedUpdate<T>>
  /** Returns to the state of the start: the records of the seed, without faults, at the time of the start plus the real time since. */
  reset(): Promise<void>
  /** Saves the state of the server, with the time of its clock, until it closes. */
  snapshot(): Promise<Snapshot>
  /** Returns to a snapshot of this server, as often as needed. The test clock goes back with it. */
  restore(snapshot: Snapshot): Promise<void>
  /** Ends calls and deliveries in flight and releases everything. Further calls change nothing. */
  close(): Promise<void>
}

/** A saved state of a server. */
export interface Snapshot {
  /** Time of the server's clock at which it was saved. */
  readonly time: Date
}

export interface ReceiveOptions {
  /** Maximum wait in ms; default 5,000. */
  readonly within?: number
  /** Id of the bot; default: the first approved bot of the seed that is linked to an application. */
  readonly bot?: string
}

interface Payloads {
  readonly message: Message
  readonly voucher_issued: { readonly voucher: Voucher }
  readonly voucher_redeemed: { readonly redemption: Redemption }
  readonly voucher_reversed: { readonly redemption: Redemption }
}

/** The body of a delivery; the member that `type` names holds the payload. */
export type ReceivedUpdate<T extends UpdateType = UpdateType> = {
  readonly update_id: number
  readonly type: T
  readonly created_at: string
} & { readonly [Name in T]: Name extends keyof Payloads ? Payloads[Name] : Readonly<Record<string, unknown>> }

export interface ClockControl {
  now(): Date
  /** @param by such as `31d`, `12h`, `5m`, `30s`, `500ms`, or a number of ms */
  advance(by: string | number): void
  /** @param to an instant that is not in the past: a Date, or a text in RFC 3339 */
  set(to: Date | string): void
}

export interface NewFault {
  /** Contract id of the endpoint, such as `vouchers.redeem`. */
  readonly endpoint: string
  /** `drop_response` loses the response after the commit, `error` responds 503, `delay` responds late. */
  readonly kind: (typeof faultKinds)[number]
  /** Number of calls that it affects; default 1, or all with a `rate`. */
  readonly times?: number
  /** Share of the calls that it affects, at random: above 0 and up to 1. Default: each call. */
  readonly rate?: number
  /** Required for `delay`, in ms, up to 60,000. */
  readonly delay_ms?: number
}

export interface FaultControl {
  add(fault: NewFault): void
  /** Removes all faults; returns their number. */
  clear(): number
}
