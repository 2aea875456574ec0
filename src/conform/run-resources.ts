import type { CredentialKind } from '../contract/endpoint.js'
import type { Need } from './group.js'
import type { WebhookReceiver } from './receiver.js'
import { type Leftover, NotApplicable } from './result.js'
import type { Secrets } from './secrets.js'

/** What the user offers to the run. */
export interface Offer {
  readonly credentials: Readonly<Partial<Record<CredentialKind, string>>>
  /** Id of an active template of the token's application. */
  readonly template?: string | undefined
  /** Id of a bot without a webhook: its webhook, profile and updates are the run's. */
  readonly botId?: string | undefined
  /** Id of a private chat of that bot. */
  readonly chat?: string | undefined
  /** Receives the deliveries for the URL that the user names. */
  readonly receiver?: WebhookReceiver | undefined
  /** Vouchers that the run may issue. */
  readonly quota: number
  /** Longest wait for the platform, in ms. */
  readonly maxWaitMs: number
  /** Whether the platform has the encrypted transport. */
  readonly hasSecure: boolean
}

interface RunResourcesOptions extends Offer {
  /** Distinguishes the objects of this run; letters and digits. */
  readonly run: string
  readonly secrets: Secrets
  pause(ms: number): Promise<void>
}

/** What a user must supply, for each need that a run lacks. */
const missing: Readonly<Record<Need, string>> = {
  token: 'an application token (VOUCHERCTL_TOKEN, or in the profile)',
  bot: 'a bot token (VOUCHERCTL_BOT_TOKEN, or in the profile)',
  jwt: 'an account JWT (VOUCHERCTL_JWT, or in the profile)',
  template: '--template ID, or a platform that approves templates within --max-wait',
  'bot id': '--bot ID',
  chat: '--chat ID',
  webhook: '--webhook-url URL',
  secure: 'a platform with the encrypted transport',
}

/** The objects of a run on the platform: what the user offers, and what probes make. */
export class RunResources {
  readonly run: string
  readonly secrets: Secrets
  readonly #options: RunResourcesOptions
  readonly #kept = new Map<string, Promise<unknown>>()
  readonly #removals: { readonly leftover: Omit<Leftover, 'reason'>; remove(): Promise<string | undefined> }[] = []
  readonly #leftovers: Leftover[] = []
  #names = 0
  #issued = 0

  constructor(options: RunResourcesOptions) {
    this.#options = options
    this.run = options.run
    this.secrets = options.secrets
  }

  get offer(): Offer {
    return this.#options
  }

  /** What the run lacks for a probe, in words; undefined if it lacks nothing. */
  lacks(needs: readonly Need[]): string | undefined {
    const { credentials, template, botId, chat, receiver, hasSecure } = this.#options
    const isThere: Readonly<Record<Need, boolean>> = {
      token: credentials.token !== undefined,
      bot: credentials.bot !== undefined,
      jwt: credentials.jwt !== undefined,
      // Without --template, the first probe that needs one tries to have one approved.
      template: template !== undefined || credentials.token !== undefined,
      'bot id': botId !== undefined,
      chat: chat !== undefined,
      webhook: receiver !== undefined,
      secure: hasSecure,
    }
    const lacking = needs.filter((it) => !isThere[it])
    return lacking.length === 0 ? undefined : `Needs ${lacking.map((it) => missing[it]).join('; ')}.`
  }

  /** Vouchers that the run may still issue. */
  get quotaLeft(): number {
    return this.#options.quota - this.#issued
  }

  credential(kind: CredentialKind): string {
    const credential = this.#options.credentials[kind]
    return credential ?? this.lacking(kind as Need)
  }

  /** A name that no other object of any run has. */
  name(): string {
    this.#names += 1
    return `conform-${this.run}-${this.#names}`
  }

  pause(ms: number): Promise<void> {
    return this.#options.pause(ms)
  }

  /** Returns what `make` made for the first probe that asked for it. A failure is kept too. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) ?? make()
    this.#kept.set(name, kept)
    return kept as Promise<T>
  }

  /** Registers an object that no call can remove, for the list at the end. */
  leaves(kind: string, id: string, reason = 'The interface has no call that removes it.'): void {
    this.#leftovers.push({ kind, id, reason })
  }

  /** Registers an object that is removed at the end. `remove` returns why it is still there, or undefined. */
  removes(kind: string, id: string, remove: () => Promise<string | undefined>): void {
    this.#removals.push({ leftover: { kind, id }, remove })
  }

  /** Removes what can be removed, the newest first; returns what is left. */
  async cleanUp(): Promise<readonly Leftover[]> {
    for (const { leftover, remove } of this.#removals.splice(0).reverse()) {
      const reason = await remove().catch((error: Error) => error.message)
      if (reason !== undefined) this.#leftovers.push({ ...leftover, reason })
    }
    return this.#leftovers
  }

  /** Counts a voucher against the quota that the user grants. @throws NotApplicable if it is used up */
  takeQuota(): void {
    if (this.quotaLeft < 1) throw new NotApplicable('Needs a greater --quota.')
    this.#issued += 1
  }

  /** Ends a probe for which something is missing. */
  lacking(need: Need): never {
    throw new NotApplicable(`Needs ${missing[need]}.`)
  }
}
