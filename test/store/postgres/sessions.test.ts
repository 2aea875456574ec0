import { expect, it, onTestFinished } from 'vitest'
import { type Op, one, run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import type { SessionLimits } from '../../../src/store/sessions.js'
import { sharedSessions } from '../../../src/store/shared-sessions.js'
import { takeDatabase } from '../../support/postgres-database.js'

const sealing = { seal: () => 'x', open: (sid: string) => ({ sid, expiresAt: 0 }) }

it('expired encrypted sessions are deleted with their replay marks in bounded transactions', async () => {
  const database = takeDatabase()
  const store = await openPostgresStore({ url: await database.url, env: {} })
  onTestFinished(async () => {
    await store.close()
    database.release()
  })
  await store.write(function* () {
    for (const [sid, expiresAt, rids] of [
      ['a', 1, 1_500],
      ['b', 2, 1_500],
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
  const marks = () => store.read(() => one<{ n: number }>('select count(*) as n from secure_rids'))
  const left: (number | undefined)[] = []
  const write = async <T>(op: () => Op<T>): Promise<T> => {
    const answer = await store.write(op)
    left.push((await marks())?.n)
    return answer
  }
  const sessions = sharedSessions({ ...store, write }, sealing)
  await sessions.deleteExpired(50)
  // The last two writes delete nothing: no session is expired or beyond the limits.
  expect(left).toEqual([6_520, 5_020, 20, 10, 10, 10])
  expect(await sessions.find('left')).toBeDefined()
})

async function sessionsWith(limits: SessionLimits) {
  const database = takeDatabase()
  const store = await openPostgresStore({ url: await database.url, env: {} })
  onTestFinished(async () => {
    await store.close()
    database.release()
  })
  return sharedSessions(store, sealing, limits)
}

it('above the limit, the oldest session is evicted first, those with a successful call last', async () => {
  const sessions = await sessionsWith({ sessions: 3, ridsOfSession: 10, rids: 100 })
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
  const sessions = await sessionsWith({ sessions: 10, ridsOfSession: 10, rids: 6 })
  for (const sid of ['worked', 'few', 'many']) await sessions.add({ sid, expiresAt: 100 })
  await sessions.confirm('worked')
  const uses = { worked: 4, few: 1, many: 3 }
  for (const [sid, count] of Object.entries(uses)) for (let n = 0; n < count; n++) await sessions.use(sid, `rid ${n}`)
  await sessions.deleteExpired(0)
  expect(await sessions.find('many')).toBe(undefined)
  expect([await sessions.use('few', 'rid 0'), await sessions.use('worked', 'rid 0')]).toEqual(['replayed', 'replayed'])
})
