/** What is kept of a session of the encrypted transport, beside whatever its owner puts into it. */
export interface KeptSession {
  readonly sid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** `first`: nobody has used the rid before. `ended`: the session is gone, or has used up its rids. */
export type RidUse = 'first' | 'replayed' | 'ended'

/** Sessions and their replay marks: they live and die together (decisions.md 10, rids). */
export interface Sessions<S extends KeptSession> {
  add(session: S, now: number): Promise<void>
  find(sid: string): Promise<S | undefined>
  /** The first use of (sid, rid) is given to exactly one caller. */
  use(sid: string, rid: string): Promise<RidUse>
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
 * Sessions in the memory of one process, oldest first. Under pressure whole sessions go, the oldest first and never
 * single marks: a mark that is forgotten would let its envelope in again.
 */
export function memorySessions<S extends KeptSession>(limits: SessionLimits = DEFAULT_LIMITS): Sessions<S> {
  const kept = new Map<string, { readonly session: S; readonly rids: Set<string> }>()
  let marks = 0

  const end = (sid: string): void => {
    marks -= kept.get(sid)?.rids.size ?? 0
    kept.delete(sid)
  }
  const endOldest = (): void => {
    const [sid] = kept.keys()
    if (sid !== undefined) end(sid)
  }

  return {
    async add(session, now) {
      for (const [sid, { session: older }] of kept) {
        if (now < older.expiresAt) break
        end(sid)
      }
      while (kept.size >= limits.sessions) endOldest()
      kept.set(session.sid, { session, rids: new Set() })
    },

    find: async (sid) => kept.get(sid)?.session,

    async use(sid, rid) {
      const entry = kept.get(sid)
      if (entry === undefined) return 'ended'
      if (entry.rids.has(rid)) return 'replayed'
      if (entry.rids.size >= limits.ridsOfSession) {
        end(sid)
        return 'ended'
      }
      entry.rids.add(rid)
      marks += 1
      while (marks > limits.rids) endOldest()
      return kept.has(sid) ? 'first' : 'ended'
    },
  }
}
