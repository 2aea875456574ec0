import { CLOCKS_APART_MS_MAX } from '../domain/time.js'

/** What is kept of a session of the encrypted transport, beside whatever its owner puts into it. */
export interface KeptSession {
  readonly sid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Of the longest session; one that ends later was made by a clock that has been set back since. */
const SESSION_MS_MAX = 600_000 + CLOCKS_APART_MS_MAX

/** Milliseconds since 1970: sessions that end before `until` or after `from` have ended. */
export const endsOfSessions = (now: number) => ({ until: now, from: now + SESSION_MS_MAX })

/** @param now ms since 1970 */
export function hasEnded({ expiresAt }: KeptSession, now: number): boolean {
  const { until, from } = endsOfSessions(now)
  return expiresAt <= until || expiresAt > from
}

/** `first`: nobody has used the rid before. `ended`: the session is gone, or has used up its rids. */
export type RidUse = 'first' | 'replayed' | 'ended'

/** Sessions and their replay marks: they live and die together (decisions.md 10, rids). */
export interface Sessions<S extends KeptSession> {
  add(session: S): Promise<void>
  find(sid: string): Promise<S | undefined>
  /** The first use of (sid, rid) is given to exactly one caller. */
  use(sid: string, rid: string): Promise<RidUse>
  /** Removes what has expired. @param now ms since 1970 */
  forget(now: number): Promise<void>
}

export interface SessionLimits {
  readonly sessions: number
  /** Of one session, then it ends. */
  readonly ridsOfSession: number
  /** Of all sessions together. */
  readonly rids: number
}

/** Some 100 MB at most: a mark takes about 100 bytes. */
const DEFAULT_LIMITS: SessionLimits = { sessions: 50_000, ridsOfSession: 65_536, rids: 1_000_000 }

/**
 * Sessions in the memory of one process. Under pressure whole sessions go and never single marks: a mark that is
 * forgotten would let its envelope in again. Of too many sessions the oldest goes, of too many marks the session that
 * has most of them: nobody's use ends the sessions of others.
 */
export function memorySessions<S extends KeptSession>(limits: SessionLimits = DEFAULT_LIMITS): Sessions<S> {
  // In the order of their making, which is that of their end.
  const kept = new Map<string, { readonly session: S; readonly rids: Set<string> }>()
  let marks = 0

  const end = (sid: string): void => {
    marks -= kept.get(sid)?.rids.size ?? 0
    kept.delete(sid)
  }
  const endLargest = (): void => {
    let [largest, most] = ['', 0]
    for (const [sid, { rids }] of kept) if (rids.size > most) [largest, most] = [sid, rids.size]
    end(largest)
  }

  return {
    async add(session) {
      while (kept.size >= limits.sessions) end(kept.keys().next().value as string)
      kept.set(session.sid, { session, rids: new Set() })
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

    async forget(now) {
      for (const [sid, { session }] of kept) {
        if (!hasEnded(session, now)) break
        end(sid)
      }
    },
  }
}
