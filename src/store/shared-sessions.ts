import { type Op, all, change, one, run, runEach } from './operation.js'
import { type KeptSession, type RidUse, type Sessions, endsOfSessions } from './sessions.js'
import type { Store } from './store.js'

/** What makes a session a text that says nothing without the key file, and back. */
export interface SessionSealing<S extends KeptSession> {
  seal(session: S): string
  /** @throws for a text that was not sealed for this sid */
  open(sid: string, sealed: string): S
}

/** Of one session, then it ends (decisions.md 10, rids). */
const RIDS_OF_SESSION_MAX = 65_536

/** Sessions that end are removed so many at a time, and no more than with so many marks. */
const FORGOTTEN_AT_ONCE = 200
const MARKS_AT_ONCE = 2_000

/**
 * Sessions that every process of a store knows, in tables that a crash of the database empties: session and marks are
 * gone together then, and their clients negotiate anew.
 */
export function sharedSessions<S extends KeptSession>(store: Store, sealing: SessionSealing<S>): Sessions<S> {
  return {
    add: (session) =>
      store.write(function* () {
        yield* run('insert into secure_sessions (sid, sealed, expires_at, rids) values ($1, $2, $3, 0)', [
          session.sid,
          sealing.seal(session),
          session.expiresAt,
        ])
      }),

    async find(sid) {
      const row = await store.read(() =>
        one<{ sealed: string }>('select sealed from secure_sessions where sid = $1', [sid]),
      )
      return row === undefined ? undefined : sealing.open(sid, row.sealed)
    },

    use: (sid, rid) => store.write(() => use(sid, rid)),

    async forget(now) {
      while ((await store.write(() => forgetSome(now))) > 0);
    },
  }
}

/** Of the sessions whose time is over, as many as have a bounded number of marks; answers how many. */
function* forgetSome(now: number): Op<number> {
  const { until, from } = endsOfSessions(now)
  const ended = yield* all<{ sid: string; rids: number }>(
    'select sid, rids from secure_sessions where expires_at <= $1 or expires_at > $2 order by expires_at limit $3',
    [until, from, FORGOTTEN_AT_ONCE],
    'skip',
  )
  let marks = 0
  const some = ended.filter(({ rids }, index) => (marks += rids) <= MARKS_AT_ONCE || index === 0)
  yield* runEach(
    'delete from secure_sessions where sid = $1',
    some.map(({ sid }) => [sid]),
  )
  return some.length
}

/** The row of the session is the lock of its marks. */
function* use(sid: string, rid: string): Op<RidUse> {
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
  if (session.rids <= RIDS_OF_SESSION_MAX) return 'first'
  yield* run('delete from secure_sessions where sid = $1', [sid])
  return 'ended'
}
