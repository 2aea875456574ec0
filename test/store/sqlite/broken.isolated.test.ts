import { beforeEach, expect, it, vi } from 'vitest'
import type { SqliteDatabase } from '../../../src/store/sqlite/engine.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { StoreUnavailable } from '../../../src/store/store.js'
import { note, notes } from '../../support/store/notes.js'

/** Extended result codes of SQLite. */
const BUSY = 5
const FULL = 13
const IOERR_FSYNC = 1034

/** The result code with which the next commit fails, or null. */
let commitFails: number | null = null
let commits = 0
let rollbacks = 0
let journalRemovals = 0
let journalRemovalFails = false

/** Wraps the real SQLite database: commits fail while `commitFails` is set. */
vi.mock(import('../../../src/store/sqlite/open.js'), async (original) => {
  const module = await original()
  const openSqliteFile = (): SqliteDatabase => {
    const db = module.openSqliteFile(':memory:')
    return {
      close: () => db.close(),
      exec(sql) {
        if (sql.startsWith('rollback') && !sql.includes('op')) rollbacks += 1
        if (!sql.includes('journal_mode')) return db.exec(sql)
        journalRemovals += 1
        if (journalRemovalFails) throw Object.assign(new Error('database or disk is full'), { errcode: FULL })
      },
      prepare(sql) {
        const statement = db.prepare(sql)
        if (sql !== 'commit') return statement
        return new Proxy(statement, {
          get: (target, name) => {
            if (name !== 'run') return Reflect.get(target, name)
            return () => {
              commits += 1
              if (commitFails !== null) throw Object.assign(new Error('disk I/O error'), { errcode: commitFails })
              return target.run()
            }
          },
        })
      },
    }
  }
  return { ...module, openSqliteFile }
})

beforeEach(() => {
  commitFails = null
  journalRemovalFails = false
  commits = rollbacks = journalRemovals = 0
})

it('SQLite store refuses all writes after a failed fsync', async () => {
  const store = openSqliteStore('/nowhere.db')
  await store.write(() => note('a'))
  commitFails = IOERR_FSYNC
  await expect(store.write(() => note('b'))).rejects.toBeInstanceOf(StoreUnavailable)
  expect(rollbacks).toBe(1)

  commitFails = null
  const commitsBefore = commits
  await expect(store.write(() => note('c'))).rejects.toBeInstanceOf(StoreUnavailable)
  expect(commits).toBe(commitsBefore)
  expect(await store.read(notes)).toEqual(['a'])
  await store.close()
  expect(journalRemovals).toBe(0)
})

it('SQLite write whose commit failed on a full disk or a busy file can be repeated', async () => {
  const store = openSqliteStore('/nowhere.db')
  for (const code of [FULL, BUSY]) {
    commitFails = code
    await expect(store.write(() => note(String(code)))).rejects.toBeInstanceOf(StoreUnavailable)
    commitFails = null
    await store.write(() => note(String(code)))
  }
  expect(await store.read(notes)).toEqual(['13', '5'])
  await store.close()
  expect(journalRemovals).toBe(1)
})

it('failed SQLite commit rejects exactly the operations that it contained', async () => {
  const store = openSqliteStore('/nowhere.db')
  commitFails = FULL
  const failed = await Promise.allSettled([store.write(() => note('a')), store.write(() => note('b'))])
  commitFails = null
  expect(failed.map((it) => it.status)).toEqual(['rejected', 'rejected'])
  await store.write(() => note('a'))
  expect(await store.read(notes)).toEqual(['a'])
  await store.close()
})

it('close() of a SQLite store keeps the WAL if the disk is too full for the last checkpoint', async () => {
  const store = openSqliteStore('/nowhere.db')
  await store.write(() => note('a'))
  journalRemovalFails = true
  await store.close()
  expect(journalRemovals).toBe(1)
})
