import type { IdPrefix, RandomBytes } from '../domain/ids.js'
import type { Keyring } from '../domain/keyring.js'
import type { Inspector } from '../inspector/inspector.js'
import type { ServerSession } from '../secure/server/session.js'
import type { Sessions } from '../store/sessions.js'
import type { Store } from '../store/store.js'
import type { AccountKeys } from './account-keys.js'
import type { BotCalls, TokenUses } from './background/counts.js'
import type { Clock } from './clock.js'
import type { AttemptLog } from './delivery/attempt-log.js'
import type { Lookup, UrlPolicy } from './delivery/guard.js'
import type { Sender } from './delivery/sender.js'
import type { Faults } from './faults.js'
import type { Gate } from './gate.js'
import type { ClientAddresses, Limits } from './limits.js'
import type { Activity } from './observe/activity.js'
import type { RequestLog } from './observe/request-log.js'
import type { ServerSnapshots } from './options.js'
import type { Polls } from './polls.js'
import type { Seed } from './seed/schema.js'
import type { TransportKeys } from './transport/keys.js'

/** Server settings that restrict or extend the allowed webhook URLs (rules/webhooks.md#webhook-urls). */
interface WebhookPolicy {
  /** Loopback ports that webhooks may use, for local development. */
  readonly loopbackPorts: NonNullable<UrlPolicy['loopbackPorts']>
  /** Source addresses of deliveries, which getWebhookInfo reports. */
  readonly egressIps: readonly string[]
  /** True if listeners on this machine may borrow webhooks: the server itself is bound to loopback. */
  readonly lends?: boolean
  readonly lookup: Lookup
}

/** The encrypted transport of this server (rules/encryption.md#encrypted-transport). */
interface SecureSettings {
  readonly enabled: boolean
  /** True if the server refuses runtime calls in plain text. */
  readonly required: boolean
  /** Brand name, an input of each session's key derivation. */
  readonly brand: string
  /** Origins that may open an encrypted session; `*` allows any origin, and requests without an Origin header. */
  readonly allowedOrigins: readonly string[]
  readonly keys: TransportKeys
  readonly sessions: Sessions<ServerSession>
}

/** Permission to replace the state of this server through the operator API (rules/operator.md#snapshots). */
interface StateAccess {
  /** True if the state may be reset: always on loopback, elsewhere only with --allow-reset. */
  readonly isAllowed: boolean
  /** True if other servers may use the same state. */
  readonly isShared: boolean
}

/** All dependencies of the handlers. */
export interface Deps {
  readonly store: Store
  readonly clock: Clock
  /** Time of webhook leases in ms, which no test clock changes: of the system, or steady for a single process. */
  leaseNow(): number
  readonly random: RandomBytes
  newId(prefix: IdPrefix): string
  readonly keys: Keyring
  readonly accounts: AccountKeys
  /** SHA-256 of the operator key, base64url; null when the operator API is off. */
  readonly operatorKeyHash: string | null
  /** The page of this server; null without a port on loopback or without the operator API. */
  readonly inspector: Inspector | null
  readonly limits: Limits
  readonly addresses: ClientAddresses
  readonly faults: Faults
  readonly requestLog: RequestLog
  readonly activity: Activity
  readonly tokenUses: TokenUses
  readonly botCalls: BotCalls
  readonly polls: Polls
  /** Holds calls while a reset or restore replaces the state. */
  readonly gate: Gate
  readonly stateAccess: StateAccess
  /** True if only this machine reaches the server. */
  readonly isLoopback: boolean
  readonly snapshots: ServerSnapshots & {
    reset(seed?: Seed): Promise<void>
    /** Follows resets and restores by all processes of the store. Returns a function that stops following. */
    follow(): () => void
  }
  readonly webhooks: WebhookPolicy
  /** Sends the deliveries and the operator's replays. */
  readonly sender: Sender
  /** Latest delivery attempts of this process. */
  readonly attempts: AttemptLog
  readonly secure: SecureSettings
  readonly autoApprove: boolean
  /** Random id of this start, by which clients detect another server at the same address. */
  readonly instanceId: string
  /** Key of this start, in server.json only, with which the server proves itself to clients of the same user. */
  readonly proofKey: string
}
