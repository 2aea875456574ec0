import { createHash, timingSafeEqual } from 'node:crypto'

/** Time to start a browser. The ticket is an argument of the program that opens the browser, so others can see it. */
const TICKET_MS_MAX = 120_000
const TICKETS_MAX = 16
const SESSIONS_MAX = 64
const SECRET_BYTES = 32

interface PageTicket {
  readonly secret: string
  readonly expiresAt: number
}

/** One-time tickets and the sessions for which pages exchange them, in memory: both end with the process. */
export class PageSessions {
  #tickets: { readonly hash: Buffer; readonly expiresAt: number }[] = []
  #sessions: { readonly hash: Buffer }[] = []
  readonly #random: (size: number) => Uint8Array
  readonly #now: () => number

  constructor(random: (size: number) => Uint8Array, now: () => number) {
    this.#random = random
    this.#now = now
  }

  newTicket(): PageTicket {
    const secret = this.#newSecret()
    const expiresAt = this.#now() + TICKET_MS_MAX
    this.#tickets = [...this.#valid(), { hash: hashOf(secret), expiresAt }].slice(-TICKETS_MAX)
    return { secret, expiresAt }
  }

  /** Returns the secret of a new session for a valid ticket, which is then used up. */
  exchange(ticket: string): string | undefined {
    const valid = this.#valid()
    const found = find(valid, ticket)
    this.#tickets = valid.filter((it) => it !== found)
    if (found === undefined) return undefined
    const secret = this.#newSecret()
    this.#sessions = [...this.#sessions, { hash: hashOf(secret) }].slice(-SESSIONS_MAX)
    return secret
  }

  has(session: string): boolean {
    return find(this.#sessions, session) !== undefined
  }

  #valid() {
    const now = this.#now()
    return this.#tickets.filter(({ expiresAt }) => expiresAt > now)
  }

  #newSecret(): string {
    return Buffer.from(this.#random(SECRET_BYTES)).toString('base64url')
  }
}

const hashOf = (secret: string) => createHash('sha256').update(secret).digest()

/** Compares with every entry in constant time. */
function find<Entry extends { readonly hash: Buffer }>(entries: readonly Entry[], secret: string): Entry | undefined {
  const hash = hashOf(secret)
  return entries.filter((it) => timingSafeEqual(it.hash, hash))[0]
}
