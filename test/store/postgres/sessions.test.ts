import { expect, it, onTestFinished } from 'vitest'
import { type Op, one, run } from '../../../src/store/operation.js'
import type { SessionLimits } from '../../../src/store/sessions.js'
import { sharedSessions } from '../../../src/store/shared-sessions.js'
import type { Store } from '../../../src/store/store.js'
import { openTestStore } from '../../support/store/engines.js'
import { locksOf } from '../../support/store/store-steps.js'

const sealing = { seal: () => 'x', open: (sid: string) => ({ sid, expiresAt: 0 }) }

function openStore(): Store {
  const store = openTestStore()
  onTestFinished(() => store.close())
  return store
}

const countOf = (store: Store, table: string) =>
  store.read(() => one<{ n: number }>(`select count(*) as n from ${table}`)).then((row) => row?.n)

it('expired encrypted sessions are deleted with their replay marks in bounded transactions', async () => {
  const store = openStore()
  await store.write(function* () {
    for (const [sid, expiresAt, rids] of [
      ['a', 1, 1_500],
      ['b', 2, 500],
      ['c', 3, 5_000],
      ['d', 4, 10],
      ['left', 100, 10],
    ] as const) {
      yield* run('insert into secure_sessions (sid, sealed, expires_at, rids, confirmed) values ($1, $2, $3, $4, 0)', [
        sid,
        'x',
        expiresAt,
        rids,
      ])
      yield* run('insert into secure_rids (sid, rid) select $1, n::text from generate_series(1, $2::int) n', [
        sid,
        rids,
      ])
    }
  })
  const left: (number | undefined)[] = []
  const write = async <T>(op: () => Op<T>): Promise<T> => {
    const result = await store.write(op)
    left.push(await countOf(store, 'secure_rids'))
    return result
  }
  const sessions = sharedSessions({ ...store, write }, sealing)
  await sessions.deleteExpired(50)
  // The last two writes delete nothing: no session is expired or beyond the limits.
  expect(left).toEqual([5_020, 20, 10, 10, 10])
  expect(await sessions.find('left')).toBeDefined()
})

const sessionsWith = (limits: SessionLimits) => sharedSessions(openStore(), sealing, limits)

it('above the limit, the oldest session is evicted first, those with a successful call last', async () => {
  const sessions = sessionsWith({ sessions: 3, ridsOfSession: 10, rids: 100 })
  for (const [n, sid] of ['worked', 'b', 'c'].entries()) await sessions.add({ sid, expiresAt: n })
  await sessions.confirm('worked')
  await sessions.use('b', 'rid')
  const found = async (...sids: readonly string[]) => {
    const all = await Promise.all(sids.map((sid) => sessions.find(sid)))
    return all.map((it) => it?.confirmed)
  }
  expect(await found('worked', 'b', 'c')).toEqual([true, false, false])
  await sessions.add({ sid: 'd', expiresAt: 3 })
  expect(await found('worked', 'b', 'c', 'd')).toEqual([true, undefined, false, false])
  for (const sid of ['c', 'd']) await sessions.confirm(sid)
  await sessions.add({ sid: 'e', expiresAt: 4 })
  expect(await found('worked', 'c', 'd', 'e')).toEqual([undefined, true, true, false])
})

it('above the limit of replay marks, the unsuccessful session with the most marks is evicted', async () => {
  // As many sessions as the limit allows.
  const sessions = sessionsWith({ sessions: 3, ridsOfSession: 10, rids: 6 })
  for (const sid of ['worked', 'few', 'many']) await sessions.add({ sid, expiresAt: 100 })
  await sessions.confirm('worked')
  const uses = { worked: 4, few: 1, many: 3 }
  for (const [sid, count] of Object.entries(uses)) for (let n = 0; n < count; n++) await sessions.use(sid, `rid ${n}`)
  await sessions.deleteExpired(0)
  expect(await sessions.find('many')).toBe(undefined)
  expect([await sessions.use('few', 'rid 0'), await sessions.use('worked', 'rid 0')]).toEqual(['replayed', 'replayed'])
})

it('size of shared sessions includes those of other processes after the next expiry sweep', async () => {
  const store = openStore()
  const [own, other] = [sharedSessions(store, sealing), sharedSessions(store, sealing)]
  for (const sid of ['a', 'b']) await other.add({ sid, expiresAt: 100 })
  await own.add({ sid: 'c', expiresAt: 50 })
  expect([own.size(), other.size()]).toEqual([1, 2])
  await own.deleteExpired(0)
  expect(own.size()).toBe(3)
  await other.deleteExpired(50)
  expect(other.size()).toBe(2)
})

it('number of replay marks equal to the limit evicts no session', async () => {
  const sessions = sessionsWith({ sessions: 3, ridsOfSession: 10, rids: 2 })
  await sessions.add({ sid: 'a', expiresAt: 100 })
  for (const rid of ['1', '2']) await sessions.use('a', rid)
  await sessions.deleteExpired(0)
  expect(await sessions.find('a')).toBeDefined()
})

it('eviction at the limit of sessions removes a hundredth of the limit', async () => {
  const store = openStore()
  // One percent of the limit, rounded up: 2 sessions.
  const sessions = sharedSessions(store, sealing, { sessions: 101, ridsOfSession: 10, rids: 100 })
  await store.write(() =>
    run(`insert into secure_sessions (sid, sealed, expires_at, rids, confirmed)
      select n::text, 'x', n, 0, 0 from generate_series(1, 99) n`),
  )
  const counts = []
  for (const sid of ['a', 'b', 'c', 'd']) {
    await sessions.add({ sid, expiresAt: 200 })
    counts.push(await countOf(store, 'secure_sessions'))
  }
  expect(counts).toEqual([100, 101, 100, 101])
})

it('session accepts each rid once up to its limit of rids, and ends with the next', async () => {
  const store = openStore()
  const sessions = sharedSessions(store, sealing, { sessions: 3, ridsOfSession: 2, rids: 100 })
  for (const sid of ['a', 'b']) await sessions.add({ sid, expiresAt: 100 })
  const uses = []
  for (const rid of ['1', '1', '2', '2', '3', '3']) uses.push(await sessions.use('a', rid))
  expect(uses).toEqual(['first', 'replayed', 'first', 'replayed', 'ended', 'ended'])
  expect([await sessions.find('a'), await countOf(store, 'secure_rids')]).toEqual([undefined, 0])
  expect(await sessions.use('b', '1')).toBe('first')
})

it('confirmation of a session is written once until the next expiry sweep or clear', async () => {
  const store = openStore()
  let writes = 0
  const write = <T>(op: () => Op<T>): Promise<T> => {
    writes += 1
    return store.write(op)
  }
  const sessions = sharedSessions({ ...store, write }, sealing)
  const written = async () => {
    writes = 0
    for (let n = 0; n < 2; n++) await sessions.confirm('a')
    return writes
  }
  expect(await written()).toBe(1)
  sessions.clear()
  expect(await written()).toBe(1)
  await sessions.deleteExpired(0)
  expect(await written()).toBe(1)
  expect(await written()).toBe(0)
})

it('expiry sweep skips locked sessions, and one process at a time counts the sessions', async () => {
  const store = openStore()
  const locks: string[] = []
  const write = async <T>(op: () => Op<T>): Promise<T> => {
    locks.push(...(await locksOf(store, op)))
    return 0 as T
  }
  await sharedSessions({ ...store, write }, sealing).deleteExpired(0)
  expect(locks).toEqual(['skip secure_sessions', 'subject secure session limits'])
})
