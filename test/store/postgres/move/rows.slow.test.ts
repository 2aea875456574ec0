import { describe, expect, it } from 'vitest'
import { openSqliteTarget } from '../../../../src/store/move/sqlite-session.js'
import { openPostgresStore } from '../../../../src/store/postgres/store.js'
import { closeDatabase, openDatabase } from '../../../../src/store/sqlite/engine.js'
import { migrations } from '../../../../src/store/sqlite/migrations.js'
import { closeSqliteFile, openSqliteFile } from '../../../../src/store/sqlite/open.js'
import { openSqliteStore } from '../../../../src/store/sqlite/store.js'
import { exportedTables } from '../../../../src/store/tables.js'
import { emptyDatabase } from '../../../support/postgres/database.js'
import { addLaterMigration } from '../../../support/postgres/later-migration.js'
import { testApp } from '../../../support/server/app.js'
import {
  databaseFiles,
  fillStore,
  fromPostgres,
  fromSqlite,
  makeDeliveries,
  moveInto,
  rowLinesOf,
  textOf,
  toPostgres,
} from '../../../support/store/move.js'

const filePath = databaseFiles()

const tablesIn = (text: string) => [
  ...new Set(rowLinesOf(text).map((it) => (JSON.parse(it) as { table: string }).table)),
]

describe('move from SQLite to PostgreSQL and back', () => {
  it('move from SQLite to PostgreSQL and back keeps every row, line for line', async () => {
    const path = filePath()
    const store = openSqliteStore(path)
    await fillStore(store)
    await store.close()
    const first = await textOf(fromSqlite(path))
    expect(tablesIn(first)).toEqual(exportedTables)

    const url = await emptyDatabase()
    await moveInto(await toPostgres(url), first)
    const second = await textOf(fromPostgres(url))
    expect(rowLinesOf(second)).toEqual(rowLinesOf(first))

    const other = filePath()
    await moveInto(await openSqliteTarget(other), second)
    expect(rowLinesOf(await textOf(fromSqlite(other)))).toEqual(rowLinesOf(first))
    // No delivery has a lease, so the export has exactly the rows of the tables.
    const rows = (from: string, table: string) => {
      const db = openDatabase(from)
      try {
        return db
          .prepare(`select * from ${table}`)
          .all()
          .map((it) => JSON.stringify(it))
          .sort()
      } finally {
        closeDatabase(db)
      }
    }
    for (const table of exportedTables.filter((it) => it !== 'deliveries'))
      expect(rows(other, table)).toEqual(rows(path, table))
  })
})

describe('export of an older schema', () => {
  const olderText = async () => {
    const path = filePath()
    const db = openSqliteFile(path)
    for (const table of [...exportedTables].reverse()) db.exec(`drop table if exists ${table}`)
    db.exec(migrations[0]?.sql as string)
    db.exec("pragma user_version = 1; insert into credential_keys values ('key_1', 'check', 1)")
    db.exec(
      `insert into applications values ('app_1', 'acme', 'Shop', null, 'active', 0, '[]', '[]', 'optional', 1, 2)`,
    )
    closeSqliteFile(db, path)
    return textOf(fromSqlite(path))
  }

  it('export of an older schema is imported into PostgreSQL and SQLite with the current schema', async () => {
    addLaterMigration()
    const text = await olderText()
    expect(JSON.parse(text.split('\n')[0] as string)).toMatchObject({ schema: 1 })
    const [fresh, started] = [await emptyDatabase(), await emptyDatabase()]
    await (await openPostgresStore({ url: started, env: {} })).close()
    const path = filePath()
    await moveInto(await toPostgres(fresh), text)
    await moveInto(await toPostgres(started), text)
    await moveInto(await openSqliteTarget(path), text)
    for (const source of [await fromPostgres(fresh), await fromPostgres(started), fromSqlite(path)]) {
      expect(await source.schema()).toBe(migrations.length)
      expect(rowLinesOf(await textOf(source))).toEqual(rowLinesOf(text))
    }
    // A server must accept the imported rows.
    const store = await openPostgresStore({ url: fresh, env: {} })
    const server = testApp({ store })
    await makeDeliveries(server)
    await server.close()
    await store.close()
  })
})
