import { beforeEach, expect, it, vi } from 'vitest'
import { all, run } from '../../src/store/operation.js'
import type { SqliteDatabase } from '../../src/store/sqlite-engine.js'
import { openSqliteStore } from '../../src/store/sqlite.js'
import { StoreUnavailable } from '../../src/store/store.js'

/** What the next commit meets, as SQLite reports it. */
let commitFails: string | null = null
let commits = 0
let rollbacks = 0
let checkpoints = 0
let checkpointFails = false

/** The real database, but for a commit that the disk refuses. */
vi.mock(import('../../src/store/sqlite-open.js'), async (original) => {
  const module = await original()
  const openSqliteFile = (): SqliteDatabase => {
    const db = module.openSqliteFile(':memory:')
    return {
      close: () => db.close(),
      exec(sql) {
        if (sql.startsWith('rollback') && !sql.includes('op')) rollbacks += 1
        if (!sql.includes('checkpoint')) return db.exec(sql)
        checkpoints += 1
        if (checkpointFails) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
      },
      prepare(sql) {
        const statement = db.prepare(sql)
        if (sql !== 'commit') return statement
        return new Proxy(statement, {
          get: (target, name) => {
            if (name !== 'run') return Reflect.get(target, name)
            return () => {
              commits += 1
              if (commitFails !== null) throw Object.assign(new Error('disk I/O error'), { code: commitFails })
              return target.run()
            }
          },
        })
      },
    }
  }
  return { ...module, openSqliteFile }
})

const note = (id: string) =>
  function* () {
    yield* run('insert into credential_keys (key_id, key_check, created_at) values ($1, $2, 0)', [id, 'x'])
  }
const notes = () => all('select key_id from credential_keys')

beforeEach(() => {
  commitFails = null
  checkpointFails = false
  commits = rollbacks = checkpoints = 0
})

it('after a failed fsync nothing is written any more: what the disk holds is unknown', async () => {
  const store = openSqliteStore('/nowhere.db')
  await store.write(note('a'))
  commitFails = 'SQLITE_IOERR_FSYNC'
  await expect(store.write(note('b'))).rejects.toBeInstanceOf(StoreUnavailable)
  expect(rollbacks).toBe(1)

  commitFails = null
  const commitsBefore = commits
  await expect(store.write(note('c'))).rejects.toBeInstanceOf(StoreUnavailable)
  expect(commits).toBe(commitsBefore)
  expect(await store.read(notes)).toEqual([{ key_id: 'a' }])
  await store.close()
  expect(checkpoints).toBe(0)
})

it('a commit that finds the disk full or the file busy can be repeated', async () => {
  const store = openSqliteStore('/nowhere.db')
  for (const code of ['SQLITE_FULL', 'SQLITE_BUSY']) {
    commitFails = code
    await expect(store.write(note(code))).rejects.toBeInstanceOf(StoreUnavailable)
    commitFails = null
    await store.write(note(code))
  }
  expect(await store.read(notes)).toEqual([{ key_id: 'SQLITE_BUSY' }, { key_id: 'SQLITE_FULL' }])
  await store.close()
  expect(checkpoints).toBe(1)
})

it('a failed commit answers everyone who shared it, and nobody else', async () => {
  const store = openSqliteStore('/nowhere.db')
  commitFails = 'SQLITE_FULL'
  const failed = await Promise.allSettled([store.write(note('a')), store.write(note('b'))])
  commitFails = null
  expect(failed.map((it) => it.status)).toEqual(['rejected', 'rejected'])
  await store.write(note('a'))
  expect(await store.read(notes)).toEqual([{ key_id: 'a' }])
  await store.close()
})

it('a disk too full for the checkpoint at the end is no failure: the journal stays', async () => {
  const store = openSqliteStore('/nowhere.db')
  await store.write(note('a'))
  checkpointFails = true
  await store.close()
  expect(checkpoints).toBe(1)
})
