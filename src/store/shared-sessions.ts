import { aggregate, all, change, count, inserting, lock, type Op, one, run, runEach } from './operation.js'
import { selecting } from './select.js'
import {
  DEFAULT_SESSION_LIMITS,
  expiryBounds,
  type RidUse,
  type SessionLimits,
  type Sessions,
  type StoredSession,
} from './sessions.js'
import type { Store } from './store.js'

/** Encrypts sessions with the key file and decrypts them. */
export interface SessionSealing<S extends StoredSession> {
  seal(session: S): string
  /** @throws for a text that was not encrypted for this sid */
  open(sid: string, sealed: string): S
}

const insert = inserting('secure_sessions')

/** Limits of one delete statement: sessions, and their replay marks in total. */
const SESSIONS_PER_DELETE = 200
const MARKS_PER_DELETE = 2_000

/**
 * Sessions that all processes of a store share, in unlogged tables. A crash of the database empties unlogged tables:
 * it loses sessions and their replay marks together, and clients negotiate again.
 *
 * The limits apply to all processes together. Counting scans the table, so a process counts only before every 500th
 * session that it adds (1 % of the limit) and every minute, and then evicts enough for the next 500.
 */
export function sharedSessions<S extends StoredSession>(
  store: Store,
  sealing: SessionSealing<S>,
  limits = DEFAULT_SESSION_LIMITS,
): Sessions<S> {
  const countedEvery = Math.ceil(limits.sessions / 100)
  let added = 0
  let size = 0
  // Sessions confirmed in the last minute, so that concurrent calls of a session do not all write the row.
  const confirmed = new Set<string>()
  const untilNone = async (some: () => Op<number>): Promise<void> => {
    while ((await store.write(some)) > 0);
  }

  return {
    async add(session) {
      if (added % countedEvery === 0) await untilNone(() => evictSome(limits.sessions - countedEvery, limits.rids))
      added += 1
      size += 1
      const { sid, expiresAt } = session
      const row = { sid, sealed: sealing.seal(session), expires_at: expiresAt, rids: 0, confirmed: 0 }
      await store.write(() => insert(row))
    },

    async find(sid) {
      const row = await store.read(() =>
        one(
          selecting<{ sealed: string; confirmed: number }>()(
            'select sealed, confirmed from secure_sessions where sid = $1',
          ),
          [sid],
        ),
      )
      return row === undefined ? undefined : { ...sealing.open(sid, row.sealed), confirmed: row.confirmed === 1 }
    },

    use: (sid, rid) => store.write(() => use(sid, rid, limits)),

    async confirm(sid) {
      if (confirmed.has(sid)) return
      confirmed.add(sid)
      await store.write(() => run('update secure_sessions set confirmed = 1 where sid = $1 and confirmed = 0', [sid]))
    },

    async deleteExpired(now) {
      confirmed.clear()
      await untilNone(() => deleteSomeExpired(now))
      await untilNone(() => evictSome(limits.sessions, limits.rids))
      size = await store.read(() => count('secure_sessions', []))
    },

    size: () => size,

    clear: () => confirmed.clear(),
  }
}

interface Removable {
  readonly sid: string
  readonly rids: number
}

/** Deletes expired sessions, up to a bounded number of replay marks; returns the number of deleted sessions. */
function* deleteSomeExpired(now: number): Op<number> {
  const { until, from } = expiryBounds(now)
  const ended = yield* all(
    selecting<Removable>()(
      'select sid, rids from secure_sessions where expires_at <= $1 or expires_at > $2 order by expires_at limit $3',
    ),
    [until, from, SESSIONS_PER_DELETE],
    'skip',
  )
  return yield* removeSome(ended)
}

/** Evicts sessions beyond a limit, up to a bounded number of replay marks; returns the number of evicted sessions. */
function* evictSome(sessionsMax: number, ridsMax: number): Op<number> {
  // Without the lock, two processes that count concurrently would both evict the same excess.
  yield* lock('secure session limits')
  const { sessions, rids } = yield* aggregate<{ sessions: number; rids: number }>(
    'select count(*) as sessions, coalesce(sum(rids), 0) as rids from secure_sessions',
  )
  const excess = sessions - sessionsMax
  if (excess > 0) return yield* removeSome(yield* nextEvicted('expires_at', excess))
  return rids > ridsMax ? yield* removeSome(yield* nextEvicted('rids desc', 1)) : 0
}

function nextEvicted(order: 'expires_at' | 'rids desc', count: number): Op<Removable[]> {
  const sql = selecting<Removable>()(`select sid, rids from secure_sessions order by confirmed, ${order} limit $1`)
  return all(sql, [Math.min(count, SESSIONS_PER_DELETE)], 'skip')
}

function* removeSome(sessions: readonly Removable[]): Op<number> {
  let marks = 0
  const some = sessions.filter(({ rids }, index) => (marks += rids) <= MARKS_PER_DELETE || index === 0)
  yield* runEach(
    'delete from secure_sessions where sid = $1',
    some.map(({ sid }) => [sid]),
  )
  return some.length
}

/** Records a request id. Updates the session's row first: its lock serialises concurrent calls. */
function* use(sid: string, rid: string, { ridsOfSession }: SessionLimits): Op<RidUse> {
  const session = yield* change<{ rids: number }>(
    'update secure_sessions set rids = rids + 1 where sid = $1 returning rids',
    [sid],
  )
  if (session === undefined) return 'ended'
  const first = yield* run('insert into secure_rids (sid, rid) values ($1, $2) on conflict do nothing', [sid, rid])
  if (first === 0) {
    yield* run('update secure_sessions set rids = rids - 1 where sid = $1', [sid])
    return 'replayed'
  }
  if (session.rids <= ridsOfSession) return 'first'
  yield* run('delete from secure_sessions where sid = $1', [sid])
  return 'ended'
}
