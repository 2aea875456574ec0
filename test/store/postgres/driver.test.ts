import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { deleteExpiredRecords } from '../../../src/store/idempotency.js'
import { all, change, lock, notify, type Op, one, run, Superseded } from '../../../src/store/operation.js'
import { CONNECTIONS_MAX } from '../../../src/store/postgres/pool.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { count, counter, counterValue, holdLock } from '../../support/postgres/counters.js'
import { DELETE_ALL, type TestDatabase, takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { until } from '../../support/server/deliveries.js'

let database: TestDatabase
let store: Store
let other: Store
beforeAll(async () => {
  database = takeDatabase()
  const settings = { url: await database.url, env: {} }
  ;[store, other] = await Promise.all([openPostgresStore(settings), openPostgresStore(settings)])
})
beforeEach(() => store.write(() => run(DELETE_ALL)))
afterAll(async () => {
  await Promise.all([store.close(), other.close()])
  database.release()
})

const valueOf = (id: string) => counterValue(store, id)
const holding = async (sql: string, use: () => Promise<void>) => holdLock(await database.url, sql, use)

describe('concurrent operations of two processes', () => {
  it('operations of two processes that read and then write a row lose no write', async () => {
    await store.write(() => counter('a'))
    await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? store : other).write(() => count('a'))))
    expect(await valueOf('a')).toBe(40)
  })

  it('two operations that deadlock both complete because one is retried', async () => {
    await store.write(() => counter('a'))
    await store.write(() => counter('b'))
    const both = (first: string, second: string) =>
      function* (): Op<void> {
        yield* count(first)
        yield* one('select pg_sleep(0.05)')
        yield* count(second)
      }
    await Promise.all([store.write(both('a', 'b')), other.write(both('b', 'a'))])
    expect([await valueOf('a'), await valueOf('b')]).toEqual([2, 2])
  })

  it('two operations complete under serializable isolation: a serialization failure is retried', async () => {
    const env = { PGOPTIONS: '-c default_transaction_isolation=serializable' }
    const url = await database.url
    const strict = await Promise.all([openPostgresStore({ url, env }), openPostgresStore({ url, env })])
    await store.write(() => counter('a'))
    let runs = 0
    const add = function* (): Op<void> {
      runs += 1
      const row = yield* one<{ n: number }>("select created_at as n from credential_keys where key_id = 'a'")
      yield* one('select pg_advisory_xact_lock_shared(7)')
      yield* run("update credential_keys set created_at = $1 where key_id = 'a'", [(row?.n ?? 0) + 1])
    }
    const waiting = () =>
      one<{ n: number }>(`select count(*) as n from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`)
    let written: Promise<void>[] = []
    await holding('select pg_advisory_xact_lock(7)', async () => {
      written = strict.map((it) => it.write(add))
      // Both have read the row before either writes it.
      await until(async () => Number((await store.read(waiting))?.n) === 2)
    })
    await Promise.all(written)
    await Promise.all(strict.map((it) => it.close()))
    expect([await valueOf('a'), runs]).toEqual([2, 3])
  })

  it("second of two operations that insert the same row is retried and finds the first's row", async () => {
    const insertOrFind = function* (): Op<string> {
      const found = yield* one('select key_id from credential_keys where key_id = $1', ['a'])
      if (found !== undefined) return 'found'
      yield* one('select pg_sleep(0.05)')
      yield* counter('a')
      return 'made'
    }
    const done = await Promise.all([store.write(insertOrFind), other.write(insertOrFind)])
    expect(done.sort()).toEqual(['found', 'made'])
  })

  it('operations that lock the same name run one after another', async () => {
    const limited = function* (): Op<boolean> {
      yield* lock('a limit')
      const { n } = (yield* one<{ n: number }>('select count(*) as n from credential_keys')) as { n: number }
      if (n >= 3) return false
      yield* counter(`key ${n}`)
      return true
    }
    const done = await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? store : other).write(limited)))
    expect(done.filter(Boolean).length).toBe(3)
  })

  it('operations that skip locked rows divide the rows between them', async () => {
    for (const id of ['a', 'b']) await store.write(() => counter(id))
    await holding("select * from credential_keys where key_id = 'a' for update", async () => {
      const free = await store.write(() => all('select key_id from credential_keys order by key_id', [], 'skip'))
      expect(free).toEqual([{ key_id: 'b' }])
    })
  })

  it('concurrent expiry sweeps divide the expired rows without waiting for locks', async () => {
    await store.write(() =>
      run(`insert into idempotency_keys select 'app_1', 'k' || n, 'f', 201, 'vch_1', null, 0, n
           from generate_series(1, 20) n`),
    )
    await holding('delete from idempotency_keys where expires_at <= 5', async () => {
      expect(await store.write(() => deleteExpiredRecords(20, 10))).toBe(10)
      expect(await other.write(() => deleteExpiredRecords(20, 10))).toBe(5)
    })
    expect(await store.read(() => one('select count(*) as n from idempotency_keys'))).toEqual({ n: 0 })
  })

  it('notifications reach the other process after a commit, never after a rollback', async () => {
    const subjects: string[] = []
    other.listen((subject) => subjects.push(subject))
    await store.write(() => notify('one'))
    const failing = store.write(function* (): Op<void> {
      yield* notify('never')
      yield* counter('a')
      throw new Error('a bug')
    })
    await expect(failing).rejects.toThrow('a bug')
    await store.write(() => notify('two'))
    await until(() => subjects.length >= 2)
    expect(subjects).toEqual(['one', 'two'])
  })
})

describe('PostgreSQL operation', () => {
  it('superseded PostgreSQL operation is retried, and fails as unavailable if always superseded', async () => {
    let runs = 0
    const late = function* (): Op<number> {
      runs += 1
      yield* run('delete from credential_keys')
      if (runs < 4) throw new Superseded()
      return runs
    }
    expect(await store.write(late)).toBe(4)
    const never = function* (): Op<void> {
      yield* run('delete from credential_keys')
      throw new Superseded()
    }
    await expect(store.write(never)).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('writes of a PostgreSQL operation are invisible to reads before its commit', async () => {
    await store.write(() => counter('a'))
    await holding("update credential_keys set created_at = 7 where key_id = 'a'", async () => {
      expect(await valueOf('a')).toBe(0)
    })
    expect(await valueOf('a')).toBe(7)
  })

  it('PostgreSQL read completes while 100 writes wait for a lock', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `n${index}`)
    let writing: Promise<unknown> | undefined
    await holding('lock table credential_keys in share mode', async () => {
      writing = Promise.all(ids.map((id) => store.write(() => counter(id))))
      expect(await store.read(() => all('select key_id from credential_keys'))).toEqual([])
    })
    await writing
    expect(await store.read(() => all('select key_id from credential_keys'))).toHaveLength(ids.length)
  })

  it('PostgreSQL read of one statement completes while reads of two statements wait for a lock', async () => {
    const readTwice = (begun: () => void) =>
      function* (): Op<unknown> {
        yield* one('select 1 as n')
        begun()
        return yield* all('select key_id from credential_keys')
      }
    const reading: Promise<unknown>[] = []
    await holding('lock table credential_keys in access exclusive mode', async () => {
      // One after another, because reads that begin together share a connection.
      for (let n = 0; n < CONNECTIONS_MAX.reads; n++) {
        await new Promise<void>((begun) => reading.push(store.read(readTwice(begun))))
      }
      expect(await store.read(() => one('select 1 as n'))).toEqual({ n: 1 })
    })
    expect(await Promise.all(reading)).toEqual([[], [], []])
  })

  it('PostgreSQL connections set the lock, statement and idle timeouts in the database', async () => {
    const [row] = await store.read(() =>
      all(
        `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
                current_setting('idle_in_transaction_session_timeout') as idle`,
      ),
    )
    expect(row).toEqual({ lock: '5s', statement: '5500ms', idle: '10s' })
  })

  it('all statements of a PostgreSQL read see the same snapshot', async () => {
    await store.write(() => counter('a'))
    const reading = store.read(function* () {
      const before = yield* one('select created_at from credential_keys')
      yield* one('select pg_sleep(0.3)')
      return [before, yield* one('select created_at from credential_keys')]
    })
    const writing = (async () => {
      for (let n = 0; n < 20; n++) await other.write(() => count('a'))
    })()
    const [before, after] = await reading
    expect(after).toEqual(before)
    await writing
  })

  it('PostgreSQL read is retried after a deadlock with a migration that locks its two tables', async () => {
    const migration = new Client({ connectionString: await database.url })
    await migration.connect()
    onTestFinished(() => migration.end())
    // PostgreSQL then ends the other process of a deadlock: the read.
    await migration.query("set deadlock_timeout = '60s'")
    await migration.query('begin; lock table credential_keys in access exclusive mode')
    let runs = 0
    let locking: Promise<unknown> | undefined
    const reading = store.read(function* () {
      runs += 1
      yield* one('select count(*) from bots')
      // The store runs a read of two statements first without a transaction, which holds no lock.
      if (runs === 2) locking = migration.query('lock table bots in access exclusive mode; commit')
      return yield* one<{ n: number }>('select count(*)::integer as n from credential_keys')
    })
    expect(await reading).toEqual({ n: 0 })
    await locking
    expect(runs).toBeGreaterThan(2)
  })

  it('failing PostgreSQL read does not fail the other reads of its batch', async () => {
    const broken = () => one('select key_id from credential_keys where created_at = 1 / $1::integer', [0])
    const read = () => one('select 1 as n')
    const outcomes = await Promise.allSettled([read, broken, read, broken, read].map((op) => store.read(op)))
    expect(outcomes.map((it) => it.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
  })

  it('close() of the PostgreSQL store resolves after all running operations', async () => {
    const own = await openPostgresStore({ url: await database.url, env: {} })
    const ended: string[] = []
    const sleep = () => one('select pg_sleep(0.1)')
    const running = [
      own.write(sleep).then(() => ended.push('write')),
      own.write(sleep, { group: 'g', conflictKey: 'k' }).then(() => ended.push('grouped write')),
      own.read(sleep).then(() => ended.push('read')),
    ]
    await own.close()
    expect(ended.sort()).toEqual(['grouped write', 'read', 'write'])
    await Promise.all(running)
    await expect(own.read(sleep)).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('read with a parameter that PostgreSQL cannot store, such as U+0000, finds no row', async () => {
    expect(await store.read(() => one('select key_id from credential_keys where key_id = $1', ['a\0b']))).toBe(
      undefined,
    )
  })
})

describe('group commit', () => {
  const grouped = (conflictKey: string) => ({ group: 'counters', conflictKey })
  const add = function* (id: string): Op<string> {
    yield* counter(id)
    const row = yield* change<{ created_at: number }>(
      "update credential_keys set created_at = created_at + 1 where key_id = 'sum' returning created_at",
      [],
    )
    return `${id} ${row?.created_at}`
  }
  beforeEach(() => store.write(() => counter('sum')))
  it('group commit completes 60 operations in fewer than 10 transactions', async () => {
    const done = await Promise.all(
      Array.from({ length: 60 }, (_, n) => store.write(() => add(`k${n}`), grouped(`${n}`))),
    )
    expect(new Set(done.map((it) => it.split(' ')[1])).size).toBe(60)
    expect(await valueOf('sum')).toBe(60)
    const transactions = await store.read(() =>
      one<{ n: number }>("select count(distinct xmin::text) as n from credential_keys where key_id like 'k%'"),
    )
    expect(transactions?.n).toBeLessThan(10)
  })

  it('operations of a group commit run alone if one of them fails, and the others complete', async () => {
    await store.write(() => counter('k1'))
    const done = await Promise.allSettled([
      store.write(() => add('k0'), grouped('0')),
      store.write(() => add('k1'), grouped('1')),
      store.write(() => add('k2'), grouped('2')),
      store.write(function* (): Op<void> {
        yield* add('k3')
        throw new Error('a bug')
      }, grouped('3')),
    ])
    expect(done.map((it) => it.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await valueOf('sum')).toBe(2)
  })

  it('group commit runs operations with the same conflict key one after another', async () => {
    const done = await Promise.all(Array.from({ length: 20 }, () => store.write(() => count('sum'), grouped('same'))))
    expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })
})

it('environment variable PGOPTIONS applies to the connections of operations', async () => {
  const own = await openPostgresStore({
    url: await database.url,
    env: { PGOPTIONS: '-c plan_cache_mode=force_generic_plan' },
  })
  const row = await own.read(() => one("select current_setting('plan_cache_mode') as mode"))
  await own.close()
  expect(row).toEqual({ mode: 'force_generic_plan' })
})

it('connections with prepared statements keep working after a migration adds a column', async () => {
  const select = () => store.write(() => one('select * from credential_keys where key_id = $1', ['a'], 'row'))
  const read = () => store.read(() => one('select * from credential_keys where key_id = $1', ['a']))
  await store.write(() => counter('a'))
  // Let several connections of the pool prepare the statement.
  await Promise.all(Array.from({ length: 10 }, select))
  await Promise.all(Array.from({ length: 10 }, read))
  const url = await database.url
  await query(url, 'alter table credential_keys add column added text')
  try {
    expect(await Promise.all(Array.from({ length: 10 }, select))).toHaveLength(10)
    expect(await read()).toMatchObject({ key_id: 'a', added: null })
  } finally {
    await query(url, 'alter table credential_keys drop column added')
  }
})

it('superseded operation is retried once more if a column was added to its table meanwhile', async () => {
  const select = () => one('select * from credential_keys where key_id = $1', ['a'], 'row')
  await store.write(() => counter('a'))
  await store.write(select)
  const url = await database.url
  await query(url, 'alter table credential_keys add column added text')
  let runs = 0
  try {
    const found = await store.write(function* () {
      runs += 1
      if (runs === 1) throw new Superseded()
      return yield* select()
    })
    expect([runs, found]).toEqual([3, expect.objectContaining({ key_id: 'a', added: null })])
  } finally {
    await query(url, 'alter table credential_keys drop column added')
  }
})

it('query plan prepared on an empty table is replaced before the table has 1,000 rows', async () => {
  const url = await database.url
  await query(
    url,
    'create table young (place text, code text, token text, rest char(500), unique (place, code), unique (place, token))',
  )
  const LOOK_UP = 'select token from young where place = $1 and code = $2'
  const lookUp = (times: number) => async () => {
    for (let n = 0; n < times; n++) await store.write(() => one(LOOK_UP, ['here', 'c7']))
  }
  try {
    await lookUp(20)()
    await query(
      url,
      "insert into young select 'here', 'c' || i, 't' || i, repeat('x', 500) from generate_series(1, 3000) i",
    )
    await lookUp(100)()
    const plan = await store.write(function* () {
      const found = yield* one<{ name: string }>('select name from pg_prepared_statements where statement = $1', [
        LOOK_UP,
      ])
      return yield* all(`explain execute ${found?.name} ('here', 'c7')`)
    })
    expect(JSON.stringify(plan)).toContain('young_place_code_key')
  } finally {
    await query(url, 'drop table young')
  }
})

describe('connections terminated by the database', () => {
  // Open separate stores: when a test ends, its store may still be replacing connections.
  const openStores = async () => {
    const own = takeDatabase()
    const url = await own.url
    const stores = [await openPostgresStore({ url, env: {} }), await openPostgresStore({ url, env: {} })] as const
    onTestFinished(async () => {
      for (const it of stores) await it.close()
      own.release()
    })
    const endAll = () =>
      query(
        url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
    return { stores, endAll }
  }

  it('terminated database connections are replaced: the next write and the next read succeed', async () => {
    const { stores, endAll } = await openStores()
    const [own] = stores
    await own.write(() => counter('a'))
    await endAll()
    await own.write(() => count('a'))
    await endAll()
    expect(await counterValue(own, 'a')).toBe(1)
  })

  it('listener whose connection was terminated learns of it and receives later notifications', async () => {
    const { stores, endAll } = await openStores()
    const [own, listening] = stores
    const subjects: string[] = []
    let missed = 0
    listening.listen(
      (subject) => subjects.push(subject),
      () => {
        missed += 1
      },
    )
    await endAll()
    await until(() => missed > 0)
    await own.write(() => notify('again'))
    await until(() => subjects.includes('again'))
  })
})
