import { expect, it, onTestFinished } from 'vitest'
import { type Op, one, run } from '../../src/store/operation.js'
import { openPostgresStore } from '../../src/store/postgres.js'
import { sharedSessions } from '../../src/store/shared-sessions.js'
import { takeDatabase } from '../support/postgres-database.js'

it('sessions that have ended go with their marks, a bounded number of these a write; others stay', async () => {
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
      yield* run('insert into secure_sessions (sid, sealed, expires_at, rids) values ($1, $2, $3, $4)', [
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
  const sealing = { seal: () => 'x', open: (sid: string) => ({ sid, expiresAt: 0 }) }
  const sessions = sharedSessions({ ...store, write }, sealing)
  await sessions.forget(50)
  expect(left).toEqual([6_520, 5_020, 20, 10, 10])
  expect(await sessions.find('left')).toBeDefined()
})
