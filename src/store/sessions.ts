import { PROCESS_CLOCK_SKEW_MS_MAX } from '../domain/time.js'

/** What is kept of a session of the encrypted transport, beside whatever its owner puts into it. */
export interface KeptSession {
  readonly sid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Of the longest session; one that ends later was made by a clock that has been set back since. */
const SESSION_MS_MAX = 600_000 + PROCESS_CLOCK_SKEW_MS_MAX

/** Milliseconds since 1970: sessions that end before `until` or after `from` have ended. */
export const endsOfSessions = (now: number) => ({ until: now, from: now + SESSION_MS_MAX })

/** @param now ms since 1970 */
export function hasEnded({ expiresAt }: KeptSession, now: number): boolean {
  const { until, from } = endsOfSessions(now)
  return expiresAt <= until || expiresAt > from
}

/** `first`: nobody has used the rid before. `ended`: the session is gone, or has used up its rids. */
export type RidUse = 'first' | 'replayed' | 'ended'

/** A session; `confirmed` once a call in it has succeeded, which needs a credential. */
type FoundSession<S> = S & { readonly confirmed: boolean }

/**
 * Sessions and their replay marks, which end together (DECISIONS.md#replay-marks). Under pressure whole sessions are
 * evicted and never single marks, since a forgotten mark would accept its envelope again. Unconfirmed sessions are
 * evicted first: anybody can open those, and they must not end the session of a working client.
 */
export interface Sessions<S extends KeptSession> {
  add(session: S): Promise<void>
  find(sid: string): Promise<FoundSession<S> | undefined>
  /** The first use of (sid, rid) is given to exactly one caller. */
  use(sid: string, rid: string): Promise<RidUse>
  confirm(sid: string): Promise<void>
  /** Removes what has expired. @param now ms since 1970 */
  forget(now: number): Promise<void>
}

export interface SessionLimits {
  readonly sessions: number
  /** Of one session, then it ends. */
  readonly ridsOfSession: number
  readonly rids: number
}

/** About 100 MB at most: a mark takes about 100 bytes (DECISIONS.md#session-limits). */
export const DEFAULT_SESSION_LIMITS: SessionLimits = { sessions: 50_000, ridsOfSession: 65_536, rids: 1_000_000 }

/**
 * Sessions in the memory of one process. At the session limit the oldest session is evicted, at the limit of replay marks
 * the session with the most of them; in both cases unconfirmed sessions first.
 */
export function memorySessions<S extends KeptSession>(limits = DEFAULT_SESSION_LIMITS): Sessions<S> {
  interface Entry {
    readonly session: S & { confirmed: boolean }
    readonly rids: Set<string>
  }
  // In order of creation, which is the order of expiry.
  const kept = new Map<string, Entry>()
  const unconfirmed = new Map<string, Entry>()
  let marks = 0

  const end = (sid: string): void => {
    marks -= kept.get(sid)?.rids.size ?? 0
    kept.delete(sid)
    unconfirmed.delete(sid)
  }
  const endOldest = (): void => end((unconfirmed.size > 0 ? unconfirmed : kept).keys().next().value as string)
  const endLargest = (): void => {
    let [largest, most] = ['', 0]
    for (const some of [unconfirmed, kept]) {
      if (most > 0) break
      for (const [sid, { rids }] of some) if (rids.size > most) [largest, most] = [sid, rids.size]
    }
    end(largest)
  }

  return {
    async add(session) {
      while (kept.size >= limits.sessions) endOldest()
      const entry = { session: { ...session, confirmed: false }, rids: new Set<string>() }
      kept.set(session.sid, entry)
      unconfirmed.set(session.sid, entry)
    },

    find: async (sid) => kept.get(sid)?.session,

    async use(sid, rid) {
      const entry = kept.get(sid)
      if (entry === undefined) return 'ended'
      const { rids } = entry
      const before = rids.size
      // Added, not looked up first: a long set lies outside the processor's cache.
      rids.add(rid)
      if (rids.size === before) return 'replayed'
      marks += 1
      if (rids.size > limits.ridsOfSession) end(sid)
      else if (marks > limits.rids) endLargest()
      return kept.has(sid) ? 'first' : 'ended'
    },

    async confirm(sid) {
      const entry = kept.get(sid)
      if (entry === undefined) return
      entry.session.confirmed = true
      unconfirmed.delete(sid)
    },

    async forget(now) {
      for (const [sid, { session }] of kept) {
        if (!hasEnded(session, now)) break
        end(sid)
      }
    },
  }
}
