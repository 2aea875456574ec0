import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/** Lifetime of a ticket in ms: enough to start a browser, whose arguments show the ticket to other users. */
const TICKET_MS_MAX = 120_000
const TICKETS_MAX = 16
/** Ms without a request or open connection after which a token ends. */
const IDLE_MS_MAX = 3_600_000
const SESSIONS_MAX = 64
const SECRET_BYTES = 32
/** Ms between two writes of the time of last use, which a killed server would otherwise lose. */
const SAVE_MS = 600_000

/** The members of a socket that a session uses. */
export type PageConnection = EventEmitter & Pick<Socket, 'destroyed' | 'readableEnded'>

/** What page sessions need to outlive the process (rules/operator.md#page). */
export interface SessionStorage {
  /** Secret of the data folder, from which proof keys derive. */
  readonly key: string
  /** The file with hashes of tokens; absent for a server without a folder. */
  readonly file?: { read(): string; write(text: string): void } | undefined
}

interface StoredSession {
  /** SHA-256 of the token, hex. */
  readonly hash: string
  /** Origin of the page: a token is valid there only. */
  readonly origin: string
  readonly used_at: string
}

interface PageSession {
  readonly hash: Buffer
  /** Open connections that sent the token, such as a stream. */
  readonly connections: Set<PageConnection>
  usedAt: number
}

/** One-time tickets, and the tokens that pages get for them. Only hashes of tokens are stored, and no ticket. */
export class PageSessions {
  #tickets: { readonly hash: Buffer; readonly expiresAt: number }[] = []
  #sessions: PageSession[] = []
  readonly #random: (size: number) => Uint8Array
  readonly #now: () => number

  readonly #storage: SessionStorage
  #origin = ''
  #savedAt = 0

  constructor(random: (size: number) => Uint8Array, now: () => number, storage: SessionStorage) {
    this.#random = random
    this.#now = now
    this.#storage = storage
  }

  /** Loads the sessions that an earlier server of this folder stored for the same origin. */
  open(origin: string): void {
    this.#origin = origin
    const own = this.#stored().filter((it) => it.origin === origin)
    const now = this.#now()
    this.#sessions = own.map((it) => sessionOf(Buffer.from(it.hash, 'hex'), Math.min(now, Date.parse(it.used_at))))
  }

  /** Stores the open sessions, and keeps the sessions of other servers of the folder. */
  save(): void {
    const now = this.#now()
    this.#savedAt = now
    const others = this.#stored().filter((it) => it.origin !== this.#origin)
    const own = this.#open().map(({ hash, connections, usedAt }): StoredSession => {
      const used_at = new Date(connections.size > 0 ? now : usedAt).toISOString()
      return { hash: hash.toString('hex'), origin: this.#origin, used_at }
    })
    if (others.length + own.length === 0) return
    try {
      this.#storage.file?.write(`${JSON.stringify({ version: 1, sessions: [...others, ...own] }, null, 2)}\n`)
    } catch {
      // The sessions last until this process ends; afterwards their tabs ask for a new link.
    }
  }

  /** Sessions in the file that have not ended; none if it is missing or damaged. */
  #stored(): StoredSession[] {
    try {
      const { sessions } = JSON.parse(this.#storage.file?.read() ?? '{}') as { sessions: StoredSession[] }
      const earliest = this.#now() - IDLE_MS_MAX
      const isHash = (it: unknown) => typeof it === 'string' && /^[\da-f]{64}$/.test(it)
      return sessions.filter((it) => isHash(it.hash) && Date.parse(it.used_at) > earliest)
    } catch {
      return []
    }
  }

  newTicket(): { readonly secret: string; readonly expiresAt: number } {
    const secret = this.#newSecret()
    const expiresAt = this.#now() + TICKET_MS_MAX
    this.#tickets = [...this.#valid(), { hash: hashOf(secret), expiresAt }].slice(-TICKETS_MAX)
    return { secret, expiresAt }
  }

  /**
   * Returns the token of a new session for a valid ticket, and invalidates the ticket. With the key the page checks that
   * a server is the server of this session.
   */
  exchange(ticket: string) {
    const valid = this.#valid()
    const found = find(valid, ticket)
    this.#tickets = valid.filter((it) => it !== found)
    if (found === undefined) return undefined
    const token = this.#newSecret()
    const session = sessionOf(hashOf(token), this.#now())
    this.#sessions = [...this.#sessions, session].slice(-SESSIONS_MAX)
    this.save()
    return { token, proof_key: this.#proofKeyOf(session).toString('hex') }
  }

  /**
   * Proves to the page of a session that this server has its key. The proof names the origin, so that a program on
   * another port cannot pass on the proof of this server as its own.
   * @param hash of the token, hex
   */
  prove(hash: string, nonce: string): string | undefined {
    const session = this.#open().find((it) => it.hash.toString('hex') === hash)
    const text = `${this.#origin} ${nonce}`
    return session && createHmac('sha256', this.#proofKeyOf(session)).update(text).digest('hex')
  }

  #proofKeyOf({ hash }: PageSession): Buffer {
    return createHmac('sha256', this.#storage.key)
      .update(`page ${hash.toString('hex')}`)
      .digest()
  }

  #open(): PageSession[] {
    const now = this.#now()
    return this.#sessions.filter(({ connections, usedAt }) => connections.size > 0 || now - usedAt < IDLE_MS_MAX)
  }

  /** True for a valid token. The session then lasts while the connection is open, and for an hour afterwards. */
  use(token: string, connection: PageConnection): boolean {
    const now = this.#now()
    this.#sessions = this.#open()
    const session = find(this.#sessions, token)
    if (session === undefined) return false
    session.usedAt = now
    if (now - this.#savedAt > SAVE_MS) this.save()
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

const sessionOf = (hash: Buffer, usedAt: number): PageSession => ({ hash, connections: new Set(), usedAt })

const hashOf = (secret: string) => createHash('sha256').update(secret).digest()

/** Compares with every entry, in constant time. */
function find<Entry extends { readonly hash: Buffer }>(entries: readonly Entry[], secret: string): Entry | undefined {
  const hash = hashOf(secret)
  return entries.filter((it) => timingSafeEqual(it.hash, hash))[0]
}
