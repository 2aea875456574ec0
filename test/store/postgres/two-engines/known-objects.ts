import type { Random } from '../../../faults/random.js'

/** Ids of the API by their prefix, and other values that later calls need. */
export type Kind =
  | 'app'
  | 'tok'
  | 'tpl'
  | 'vch'
  | 'rdm'
  | 'bot'
  | 'chat'
  | 'dlv'
  | 'flt'
  | 'jwt'
  | 'token'
  | 'bot token'
  | 'credential'

const ID = /^(app|tok|tpl|vch|rdm|bot|chat|dlv|flt)_[0-9A-Z]{26}$/

/** Probability that a call names an object of any owner. */
const FOREIGN = 0.06
/** Probability that a call names an id that does not exist. */
const UNKNOWN = 0.04

/**
 * Values that responses have shown, with their owners: an account owns applications and bots, an application owns its
 * templates, vouchers, redemptions and tokens, a bot owns its chats, deliveries and tokens.
 */
export class KnownObjects {
  readonly #owners: ReadonlyMap<Kind, Map<string, string>>

  constructor(
    owners: ReadonlyMap<Kind, Map<string, string>> = new Map(),
    /** Linked application of each bot. */
    readonly links: Map<string, string> = new Map(),
    /** Id after the last update that each bot has read. */
    readonly offsets: Map<string, number> = new Map(),
  ) {
    this.#owners = owners
  }

  copy(): KnownObjects {
    const owners = new Map([...this.#owners].map(([kind, values]) => [kind, new Map(values)]))
    return new KnownObjects(owners, new Map(this.links), new Map(this.offsets))
  }

  add(kind: Kind, value: string, owner: string): void {
    const values = this.#owners.get(kind) ?? new Map<string, string>()
    ;(this.#owners as Map<Kind, Map<string, string>>).set(kind, values)
    if (!values.has(value)) values.set(value, owner)
  }

  /** Removes a credential that is no longer accepted. */
  forget(credential: string): void {
    for (const kind of ['jwt', 'token', 'bot token'] as const) this.#owners.get(kind)?.delete(credential)
  }

  ownerOf(kind: Kind, value: string): string {
    return this.#owners.get(kind)?.get(value) ?? ''
  }

  /** A value of the owner, mostly one of the newest; undefined if there is none. Without an owner, a value of any. */
  find(kind: Kind, random: Random, owner?: string): string | undefined {
    const all = [...(this.#owners.get(kind) ?? [])]
    const own = owner === undefined ? all : all.filter(([, of]) => of === owner)
    const fromEnd = Math.min(random.below(own.length + 1), random.below(own.length + 1), own.length - 1)
    return own.at(-1 - fromEnd)?.[0]
  }

  /** An id of the owner, sometimes of another owner, and sometimes an unknown one. */
  id(kind: Kind, random: Random, owner?: string): string {
    const unknown = random.chance(0.5) ? `${kind}_${'0'.repeat(26)}` : 'x'
    if (random.chance(UNKNOWN)) return unknown
    return this.find(kind, random, random.chance(FOREIGN) ? undefined : owner) ?? this.find(kind, random) ?? unknown
  }

  /** Adds every id in a response. @param ownerOf the owner of an id of this kind in the object that contains it */
  learn(value: unknown, ownerOf: (kind: Kind, within: Readonly<Record<string, unknown>>) => string): void {
    if (typeof value !== 'object' || value === null) return
    for (const member of Object.values(value)) {
      const [, kind] = typeof member === 'string' ? (ID.exec(member) ?? []) : []
      if (kind !== undefined) {
        const owner = ownerOf(kind as Kind, value as Readonly<Record<string, unknown>>)
        if (owner !== '') this.add(kind as Kind, member as string, owner)
      } else this.learn(member, ownerOf)
    }
  }
}
