import { PROCESS_CLOCK_SKEW_MS_MAX } from '../domain/time.js'

/** Fields of an encrypted session that the store reads; callers may add further fields. */
export interface StoredSession {
  readonly sid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Maximum remaining lifetime of a session; a longer lifetime means that the clock was set back. */
const SESSION_MS_MAX = 600_000 + PROCESS_CLOCK_SKEW_MS_MAX

/** A session has ended if it expires before `until`, or after `from` (the clock was set back); ms since 1970. */
export const expiryBounds = (now: number) => ({ until: now, from: now + SESSION_MS_MAX })

/** @param now ms since 1970 */
export function hasEnded({ expiresAt }: StoredSession, now: number): boolean {
  const { until, from } = expiryBounds(now)
  return expiresAt <= until || expiresAt > from
}

/** `first`: the request id (rid) is new. `ended`: the session expired, was evicted or has too many request ids. */
export type RidUse = 'first' | 'replayed' | 'ended'

/** A session. `confirmed` is true after its first successful call, which proves a valid credential. */
type FoundSession<S> = S & { readonly confirmed: boolean }

/**
 * Sessions with their replay marks (rules/encryption.md#replay-marks). At a limit the store evicts whole sessions and
 * never single marks, because a replay without its mark would succeed. It evicts unconfirmed sessions first: anybody
 * can open them, and they must not displace working clients.
 */
export interface Sessions<S extends StoredSession> {
  add(session: S): Promise<void>
  find(sid: string): Promise<FoundSession<S> | undefined>
  /** Records the use of a request id (rid); returns `first` to exactly one caller per request id. */
  use(sid: string, rid: string): Promise<RidUse>
  confirm(sid: string): Promise<void>
  /** Deletes expired sessions. @param now ms since 1970 */
  deleteExpired(now: number): Promise<void>
  /** Number of sessions: with shared sessions at the last count, at most a minute ago, and of this process since. */
  size(): number
  /** Ends all sessions in the memory of this process. */
  clear(): void
}

export interface SessionLimits {
  readonly sessions: number
  /** Maximum of replay marks per session; the session ends when it reaches the maximum. */
  readonly ridsOfSession: number
  readonly rids: number
}

/** Bounds memory to about 100 MB: a replay mark takes about 100 bytes (rules/encryption.md#session-limits). */
export const DEFAULT_SESSION_LIMITS: SessionLimits = { sessions: 50_000, ridsOfSession: 65_536, rids: 1_000_000 }

/**
 * Sessions in the memory of one process. Evicts the oldest session at the limit of sessions, and the session with the
 * most replay marks at the limit of marks. Evicts unconfirmed sessions first.
 */
export function memorySessions<S extends StoredSession>(limits = DEFAULT_SESSION_LIMITS): Sessions<S> {
  interface Entry {
    readonly session: S & { confirmed: boolean }
    readonly rids: Set<string>
  }
  // Sessions in order of creation, and therefore of expiry.
  const entries = new Map<string, Entry>()
  const unconfirmed = new Map<string, Entry>()
  let marks = 0

  const end = (sid: string): void => {
    marks -= entries.get(sid)?.rids.size ?? 0
    entries.delete(sid)
    unconfirmed.delete(sid)
  }
  const endOldest = (): void => end((unconfirmed.size > 0 ? unconfirmed : entries).keys().next().value as string)
  const endLargest = (): void => {
    let [largest, most] = ['', 0]
    for (const some of [unconfirmed, entries]) {
      if (most > 0) break
      for (const [sid, { rids }] of some) if (rids.size > most) [largest, most] = [sid, rids.size]
    }
    end(largest)
  }

  return {
    async add(session) {
      while (entries.size >= limits.sessions) endOldest()
      const entry = { session: { ...session, confirmed: false }, rids: new Set<string>() }
      entries.set(session.sid, entry)
      unconfirmed.set(session.sid, entry)
    },

    find: async (sid) => entries.get(sid)?.session,

    async use(sid, rid) {
      const entry = entries.get(sid)
      if (entry === undefined) return 'ended'
      const { rids } = entry
      const before = rids.size
      // Add without a look-up: a large set is outside the CPU cache, so a second access is expensive.
      rids.add(rid)
      if (rids.size === before) return 'replayed'
      marks += 1
      if (rids.size > limits.ridsOfSession) end(sid)
      else if (marks > limits.rids) endLargest()
      return entries.has(sid) ? 'first' : 'ended'
    },

    async confirm(sid) {
      const entry = entries.get(sid)
      if (entry === undefined) return
      entry.session.confirmed = true
      unconfirmed.delete(sid)
    },

    async deleteExpired(now) {
      for (const [sid, { session }] of entries) {
        if (!hasEnded(session, now)) break
        end(sid)
      }
    },

    size: () => entries.size,

    clear() {
      entries.clear()
      unconfirmed.clear()
      marks = 0
    },
  }
}
