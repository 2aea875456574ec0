import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openSqliteTarget } from '../../../../src/store/move/sqlite-session.js'
import { openPostgresStore } from '../../../../src/store/postgres/store.js'
import { openSqliteStore } from '../../../../src/store/sqlite/store.js'
import { emptyDatabase } from '../../../support/postgres/database.js'
import { testApp } from '../../../support/server/app.js'
import {
  databaseFiles,
  fillStore,
  fromPostgres,
  fromSqlite,
  moveInto,
  rowLinesOf,
  textOf,
  toPostgres,
} from '../../../support/store/move.js'
import { commands, setUp } from '../../../support/store/voucher-steps.js'

const filePath = databaseFiles()

describe('move from PostgreSQL to SQLite and back', () => {
  it('move to SQLite and back keeps every row of a store after calls of every kind', async () => {
    const url = await emptyDatabase()
    const store = await openPostgresStore({ url, env: {} })
    await fillStore(store)
    await store.close()
    const first = await textOf(fromPostgres(url))
    const path = filePath()
    await moveInto(await openSqliteTarget(path), first)
    const second = await textOf(fromSqlite(path))
    expect(rowLinesOf(second)).toEqual(rowLinesOf(first))
    const again = await emptyDatabase()
    await moveInto(await toPostgres(again), second)
    expect(rowLinesOf(await textOf(fromPostgres(again)))).toEqual(rowLinesOf(first))
  })

  it('move to PostgreSQL and back keeps every row of a store after random commands', async () => {
    await fc.assert(
      fc.asyncProperty(commands(25), async (sequence) => {
        const path = filePath()
        const store = openSqliteStore(path)
        const server = testApp({ store })
        const { model, real } = await setUp(server)
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        await server.close()
        await store.close()
        const first = await textOf(fromSqlite(path))
        const url = await emptyDatabase()
        await moveInto(await toPostgres(url), first)
        const other = filePath()
        await moveInto(await openSqliteTarget(other), await textOf(fromPostgres(url)))
        expect(rowLinesOf(await textOf(fromSqlite(other)))).toEqual(rowLinesOf(first))
      }),
      { numRuns: 4, seed: 1 },
    )
  }, 90_000)
})
