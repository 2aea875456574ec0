import type { Client } from '../client/index.js'
import type { Transport } from '../client/transport.js'
import type { Contract } from '../contract/index.js'
import type { NewFault as AnyFault, HoldPlace } from '../contract/platform/fault-kinds.js'
import type { RateLimit, RateLimitName } from '../contract/rate-limits.js'
import type { UpdateOf, UpdateType } from '../contract/updates.js'
import type { Voucher } from '../contract/vouchers.js'
import type { ProveReport } from '../prove/result.js'
import type { Seed } from '../server/seed/schema.js'
import type { Match } from './match.js'

export type { Client } from '../client/index.js'
export type { ProveReport } from '../prove/result.js'
export type { Seed } from '../server/seed/schema.js'
export type { Match } from './match.js'

/**
 * Starts a server in this process, with its own database.
 * @throws TypeError or RangeError that names a wrong option; an error with a `code` if the server cannot start
 */
export type StartServer = (options?: StartOptions) => Promise<TestServer>

/**
 * Disturbs each call of a function, and reports where it redeems twice, loses a voucher or gives goods away.
 * @throws TestingError NOTHING_PROVED for a function that fails undisturbed or makes no call
 */
export type Prove = (options: ProveOptions) => Promise<ProveReport>

/** Variables for the program under test, such as `VOUCHERCTL_BASE_URL`, `VOUCHERCTL_TOKEN` and `VOUCHERCTL_CODE`. */
export type ProveEnv = Readonly<Record<string, string>>

export interface ProveOptions {
  /** One business action. It is done if it resolves, and not done if it throws or resolves to false. */
  readonly action: (env: ProveEnv) => unknown
  /** Returns the program's own state after the action, compared as JSON after disturbed deliveries. */
  readonly state?: ((env: ProveEnv) => unknown) | undefined
  /** Puts the program's own state back before each variant. */
  readonly reset?: ((env: ProveEnv) => unknown) | undefined
  /** Records before the action, or the path of a seed file. Default: an application with an active template, and a bot. */
  readonly seed?: Seed | string | undefined
  /** A bot by id, name or username, and the address on this machine that receives its updates. */
  readonly webhook?: { readonly bot: string; readonly url: string } | undefined
  /** Repeats of an action that was not done; default 1. */
  readonly again?: number | undefined
  /** Ms for all variants; default 60,000. */
  readonly budget?: number | undefined
  /** Only this variant, such as `vouchers.redeem#1/drop_response`. */
  readonly only?: string | undefined
}

export interface StartOptions {
  /** Initial records, or the path of a seed file. Default: `app_shop` with `tpl_coffee` and `bot_shop`. */
  readonly seed?: Seed | string | undefined
  /** Approves templates and bots on submission; default false. */
  readonly autoApprove?: boolean | undefined
  /**
   * The test clock, which `clock.advance` moves. True starts it at the system time; a Date or an RFC 3339 instant
   * starts it at that time. Default: true; with `databaseUrl` only false is allowed.
   */
  readonly clock?: boolean | Date | string | undefined
  /** The encrypted transport; default true. With `required` the server refuses voucher calls in plain text. */
  readonly secure?: boolean | 'required' | undefined
  /** A PostgreSQL database. The server creates its own schema there and drops it at the end. Default: SQLite. */
  readonly databaseUrl?: string | undefined
  /** True sets the default rate limits of a server, an object replaces some of them; default false: no limits. */
  readonly rateLimit?: boolean | Partial<Record<RateLimitName, RateLimit>> | undefined
  /** False opens no port: only `client`, `operator` and `transport` reach the server. Default true: a free port. */
  readonly listen?: boolean | undefined
}

export interface TestServer extends AsyncDisposable {
  /** Address of the server, for the program under test. @throws TestingError NO_PORT with `listen: false` */
  readonly baseUrl: string
  /** Calls the server in this process with the first credentials of the seed; never retries. */
  readonly client: Client
  /** The operator API, such as `operator.approveTemplate({ templateId })`. */
  readonly operator: Omit<Client['platform'], 'requests'>
  /** Sends requests to the server in this process: `createClient({ baseUrl, token, transport })`. */
  readonly transport: Transport
  /** First application token of the seed, for the program under test; empty without one. */
  readonly token: string
  /** Operator API key, for the program under test. */
  readonly operatorKey: string
  /** The initial records. */
  readonly seed: Seed
  readonly clock: ClockControl
  readonly faults: FaultControl
  /** Holds the next call of an endpoint, by default after its commit, until `release` or for `hold_ms` (60 s). */
  hold(endpoint: FaultableEndpoint, options?: HoldOptions): Promise<Hold>
  /**
   * The calls that the server has carried out or refused since the start, reset or restore: oldest first, the last
   * 1,000, secrets as `[hidden]`. Calls that only watch the server, such as health checks, are left out.
   */
  readonly requests: ReceivedCalls
  /** Reads the stored vouchers of all applications, newest first. */
  vouchers(filter?: VoucherFilter): Promise<readonly Voucher[]>
  /**
   * Resolves to the next update of a type by webhook: verified, in order of arrival, each only once.
   * @throws TestingError UPDATE_NOT_RECEIVED with the updates that did arrive
   */
  receive<T extends UpdateType>(type: T, options?: ReceiveOptions): Promise<ReceivedUpdate<T>>
  /** Returns to the initial state: the seed with its faults only, at the start time plus the real time since then. */
  reset(): Promise<void>
  /** Saves the server's state and clock until the server closes. */
  snapshot(): Promise<Snapshot>
  /** Returns to a snapshot of this server and its time, as often as needed. */
  restore(snapshot: Snapshot): Promise<void>
  /** Ends calls and deliveries in flight and releases all resources. Further calls do nothing. */
  close(): Promise<void>
}

/** A saved state of a server. */
export interface Snapshot {
  /** Time of the server's clock at the snapshot. */
  readonly time: Date
  /** Frees its memory; it can then no longer be restored. Without this call the server keeps it until `close`. */
  release(): Promise<void>
}

type ListInput = NonNullable<Parameters<Client['platform']['vouchers']>[0]>
export type VoucherFilter = Omit<ListInput, 'page' | 'limit'>

export interface ReceivedCalls extends ReadonlyArray<ReceivedCall> {
  /**
   * Resolves to the first call that matches and that no earlier `wait` resolved to, even if it has already arrived.
   * @throws TestingError CALL_NOT_RECEIVED with the calls that did arrive
   */
  wait(match: Match<ReceivedCall>, options?: Pick<ReceiveOptions, 'within'>): Promise<ReceivedCall>
}

/** One call to the server. Plain data without secrets. */
export interface ReceivedCall {
  /** Contract id, such as `vouchers.redeem`; null for an unknown path. */
  readonly endpoint: string | null
  /** Members of path, query and body; null for a body that is not JSON or too long. */
  readonly input: Readonly<Record<string, unknown>> | null
  readonly idempotencyKey: string | null
  /** Time of the server's clock at the end of the call. */
  readonly time: Date
  /** Null if the response was lost, although `status` and `code` say what the server did. */
  readonly result: { readonly ok: true; readonly data: unknown } | FailedCall | null
  readonly status: number
  readonly code: string | null
  readonly replayed: boolean
  readonly requestId: string
}

export interface FailedCall {
  readonly ok: false
  readonly code: string
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface ReceiveOptions {
  /** Maximum wait in ms; default 5,000. */
  readonly within?: number | undefined
  /** Id of the bot; default: the first approved bot of the seed that is linked to an application. */
  readonly bot?: string | undefined
}

/** The body of a delivery; the member named like `type` has the payload. */
export type ReceivedUpdate<T extends UpdateType = UpdateType> = UpdateOf<T>

export interface ClockControl {
  now(): Date
  /** Moves the clock forward. @param by a duration such as `31d`, `12h`, `5m`, `30s`, `500ms`, or a number of ms */
  advance(by: string | number): void
  /** Moves the clock to an instant. @param to a Date or RFC 3339 text, not in the past */
  set(to: Date | string): void
}

/** Contract ids of all endpoints except the operator's. */
type FaultableEndpoint = {
  [G in keyof Contract]: {
    [N in keyof Contract[G]]: Contract[G][N] extends { caller: 'operator' } ? never : `${G}.${N & string}`
  }[keyof Contract[G]]
}[keyof Contract]

export interface NewFault extends AnyFault {
  readonly endpoint: FaultableEndpoint | 'deliveries'
}

export interface HoldOptions extends Pick<AnyFault, 'at' | 'nth' | 'match' | 'hold_ms'> {
  /** Maximum wait of `call` in ms; default 5,000. */
  readonly within?: number | undefined
}

/** A fault that holds one call. */
export interface Hold {
  /**
   * Resolves when the call is held.
   * @throws TestingError CALL_NOT_RECEIVED
   */
  readonly call: Promise<HeldCall>
  /** Lets the call go on. Without a call yet, removes the fault. */
  release(): void
}

/** A held call. */
export interface HeldCall {
  readonly endpoint: string
  readonly at: HoldPlace
  readonly requestId: string
  /** Time of the server's clock at the begin of the hold. */
  readonly time: Date
}

export interface FaultControl {
  add(fault: NewFault): void
  /** Removes all faults; returns their number. */
  clear(): number
}
