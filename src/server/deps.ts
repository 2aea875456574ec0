import type { IdPrefix, RandomBytes } from '../domain/ids.js'
import type { Keyring } from '../domain/keyring.js'
import type { ServerSession } from '../secure/server/session.js'
import type { Sessions } from '../store/sessions.js'
import type { Store } from '../store/store.js'
import type { AccountKeys } from './accounts.js'
import type { BotCalls } from './background/bot-calls.js'
import type { TokenUses } from './background/token-uses.js'
import type { ClientAddresses } from './client-address.js'
import type { Clock } from './clock.js'
import type { Lookup } from './delivery/guard.js'
import type { Faults } from './faults.js'
import type { Limits } from './limits.js'
import type { RequestLog } from './observe/request-log.js'
import type { Polls } from './polls.js'
import type { TransportKeys } from './transport/keys.js'

/** Where updates may be delivered to, beside the rules that hold everywhere. */
interface WebhookPolicy {
  /** Ports of this machine that webhooks may name, for local work. */
  readonly loopbackPorts: ReadonlySet<number>
  /** The addresses that deliveries come from, as getWebhookInfo reports them. */
  readonly egressIps: readonly string[]
  readonly lookup: Lookup
}

/** The encrypted transport of this server (DECISIONS.md#encrypted-transport). */
interface SecureSettings {
  readonly enabled: boolean
  /** True if runtime calls in plain text are refused. */
  readonly required: boolean
  /** In the derivation of every session's keys. */
  readonly brand: string
  /** Origins that may open a session; `*` allows any, and none. */
  readonly allowedOrigins: readonly string[]
  readonly keys: TransportKeys
  readonly sessions: Sessions<ServerSession>
}

/** Everything that handlers use; nothing else reaches them. */
export interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly random: RandomBytes
  newId(prefix: IdPrefix): string
  readonly keys: Keyring
  readonly accounts: AccountKeys
  /** SHA-256 of the operator key, base64url; null when the operator plane is off. */
  readonly operatorKeyHash: string | null
  readonly limits: Limits
  readonly addresses: ClientAddresses
  readonly faults: Faults
  readonly requestLog: RequestLog
  readonly tokenUses: TokenUses
  readonly botCalls: BotCalls
  readonly polls: Polls
  readonly webhooks: WebhookPolicy
  readonly secure: SecureSettings
  readonly autoApprove: boolean
  /** Another one at every start: tells a server from one that took over its address. */
  readonly instanceId: string
}
