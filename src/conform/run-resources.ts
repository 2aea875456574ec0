import type { CredentialKind } from '../contract/endpoint.js'
import type { Need } from './group.js'
import type { WebhookReceiver } from './receiver.js'
import { type Leftover, NotApplicable, NotReachable } from './result.js'
import type { Secrets } from './secrets.js'

/** Credentials and resources that the user offers for a run. */
export interface Offer {
  readonly credentials: Readonly<Partial<Record<CredentialKind, string>>>
  /** Id of an active template that the token can use. */
  readonly template?: string | undefined
  /** Id of a bot without a webhook. The run may change its webhook, profile and updates. */
  readonly botId?: string | undefined
  /** Id of a private chat of this bot. */
  readonly chat?: string | undefined
  /** Receiver of the deliveries for the URL that the user names. */
  readonly receiver?: WebhookReceiver | undefined
  /** Vouchers that the run may issue. */
  readonly quota: number
  /** Maximum wait for the platform in ms. */
  readonly maxWaitMs: number
  /** True if the platform has the encrypted transport. */
  readonly hasSecure: boolean
}

interface RunResourcesOptions extends Offer {
  /** Distinguishes the objects of this run; letters and digits. */
  readonly run: string
  readonly secrets: Secrets
  pause(ms: number): Promise<void>
}

/** What the user must supply for each missing need. */
export const missing: Readonly<Record<Need, string>> = {
  token: 'an application token (VOUCHERCTL_TOKEN, or in the profile)',
  bot: 'a bot token (VOUCHERCTL_BOT_TOKEN, or in the profile)',
  jwt: 'an account JWT (VOUCHERCTL_JWT, or in the profile)',
  template: '--template ID, or a platform that approves templates within --max-wait',
  'bot id': '--bot ID',
  chat: '--chat ID',
  webhook: '--webhook-url URL',
  secure: 'a platform with the encrypted transport',
}

/** Objects of a run on the platform: offered by the user, or created by probes. */
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

  /** Says what the run lacks for a probe; undefined if it lacks nothing. */
  lacks(needs: readonly Need[]): string | undefined {
    const { credentials, template, botId, chat, receiver, hasSecure } = this.#options
    const isThere: Readonly<Record<Need, boolean>> = {
      token: credentials.token !== undefined,
      bot: credentials.bot !== undefined,
      jwt: credentials.jwt !== undefined,
      // Without --template, the first probe that needs a template tries to get one approved.
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

  /** Makes a name that is unique across all runs. */
  name(): string {
    this.#names += 1
    return `conform-${this.run}-${this.#names}`
  }

  pause(ms: number): Promise<void> {
    return this.#options.pause(ms)
  }

  /** Calls `make` for the first probe only, and returns the same result to all. Keeps a failure too, but no outage. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) ?? make()
    this.#kept.set(name, kept)
    kept.catch((error) => error instanceof NotReachable && this.#kept.delete(name))
    return kept as Promise<T>
  }

  /** Registers an object that no call can remove, to be reported at the end. */
  leaves(kind: string, id: string, reason = 'The interface has no call that removes it.'): void {
    this.#leftovers.push({ kind, id, reason })
  }

  /** Registers an object to remove at the end. `remove` returns why the object is still there, or undefined. */
  removes(kind: string, id: string, remove: () => Promise<string | undefined>): void {
    this.#removals.push({ leftover: { kind, id }, remove })
  }

  /** Removes registered objects, newest first; returns the remaining ones. */
  async cleanUp(): Promise<readonly Leftover[]> {
    for (const { leftover, remove } of this.#removals.splice(0).reverse()) {
      const reason = await remove().catch((error: Error) => error.message)
      if (reason !== undefined) this.#leftovers.push({ ...leftover, reason })
    }
    return this.#leftovers
  }

  /** Counts a voucher against the user's quota. @throws NotApplicable if the quota is used up */
  takeQuota(): void {
    if (this.quotaLeft < 1) throw new NotApplicable('Needs a greater --quota.')
    this.#issued += 1
  }

  /** Ends a probe because a need is missing. */
  lacking(need: Need): never {
    throw new NotApplicable(`Needs ${missing[need]}.`)
  }
}
