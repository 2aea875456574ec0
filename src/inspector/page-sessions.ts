import { createHash, timingSafeEqual } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/** Lifetime of a ticket in ms: enough to start a browser, whose arguments show the ticket to other users. */
const TICKET_MS_MAX = 120_000
const TICKETS_MAX = 16
/** Ms without a request or open connection after which a token ends. */
const IDLE_MS_MAX = 3_600_000
const SESSIONS_MAX = 64
const SECRET_BYTES = 32

interface PageTicket {
  readonly secret: string
  readonly expiresAt: number
}

/** The members of a socket that a session uses. */
export type PageConnection = EventEmitter & Pick<Socket, 'destroyed' | 'readableEnded'>

interface PageSession {
  readonly hash: Buffer
  /** Open connections that sent the token, such as a stream. */
  readonly connections: Set<PageConnection>
  usedAt: number
}

/** One-time tickets, and the tokens that pages get for them; in memory, so both end with the process. */
export class PageSessions {
  #tickets: { readonly hash: Buffer; readonly expiresAt: number }[] = []
  #sessions: PageSession[] = []
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

  /** Returns the token of a new session for a valid ticket, and invalidates the ticket. */
  exchange(ticket: string): string | undefined {
    const valid = this.#valid()
    const found = find(valid, ticket)
    this.#tickets = valid.filter((it) => it !== found)
    if (found === undefined) return undefined
    const token = this.#newSecret()
    const session = { hash: hashOf(token), connections: new Set<PageConnection>(), usedAt: this.#now() }
    this.#sessions = [...this.#sessions, session].slice(-SESSIONS_MAX)
    return token
  }

  /** True for a valid token. The session then lasts while the connection is open, and for an hour afterwards. */
  use(token: string, connection: PageConnection): boolean {
    const now = this.#now()
    const isOpen = ({ connections, usedAt }: PageSession) => connections.size > 0 || now - usedAt < IDLE_MS_MAX
    this.#sessions = this.#sessions.filter(isOpen)
    const session = find(this.#sessions, token)
    if (session === undefined) return false
    session.usedAt = now
    const isOver = connection.destroyed || connection.readableEnded
    if (isOver || session.connections.has(connection)) return true
    session.connections.add(connection)
    const leave = () => {
      if (session.connections.delete(connection)) session.usedAt = this.#now()
    }
    // A closed tab ends only its own side of the connection; the server's side stays open until a write.
    connection.once('end', leave).once('close', leave)
    return true
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

/** Compares with every entry, in constant time. */
function find<Entry extends { readonly hash: Buffer }>(entries: readonly Entry[], secret: string): Entry | undefined {
  const hash = hashOf(secret)
  return entries.filter((it) => timingSafeEqual(it.hash, hash))[0]
}
