import { expect, it, vi } from 'vitest'
import { startServer } from '../../src/server/listen.js'
import { inFolder } from '../support/server/server.js'

/** Makes every commit of the real SQLite database fail with "disk is full". */
vi.mock(import('../../src/store/sqlite/open.js'), async (original) => {
  const module = await original()
  return {
    ...module,
    openSqliteFile: (path: string) => {
      const db = module.openSqliteFile(path)
      const refuse = () => {
        throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
      }
      return {
        exec: (sql: string) => db.exec(sql),
        close: () => db.close(),
        prepare: (sql: string) =>
          sql === 'commit' ? new Proxy(db.prepare(sql), { get: () => refuse }) : db.prepare(sql),
      }
    },
  }
})

it('server start whose first write fails reports the database, the likely cause and the fix', () =>
  inFolder(async (dataDir) => {
    await expect(startServer({ dataDir, port: 0, logLevel: 'silent' })).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: `The database in ${dataDir} cannot be written; its disk may be full. Free some space, or use another --data.`,
    })
  }))
