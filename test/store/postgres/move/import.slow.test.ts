import { existsSync } from 'node:fs'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Table } from '../../../../src/store/move/session.js'
import { openSqliteTarget } from '../../../../src/store/move/sqlite-session.js'
import { type Row, run } from '../../../../src/store/operation.js'
import { migrations as postgresMigrations } from '../../../../src/store/postgres/migrations.js'
import { openPostgresStore } from '../../../../src/store/postgres/store.js'
import { closeDatabase, openDatabase } from '../../../../src/store/sqlite/engine.js'
import { openSqliteStore } from '../../../../src/store/sqlite/store.js'
import { breachesIn } from '../../../faults/invariants.js'
import type { Stored } from '../../../faults/stored.js'
import { emptyDatabase, urlOf } from '../../../support/postgres/database.js'
import { addLaterMigration } from '../../../support/postgres/later-migration.js'
import { createPartitioned, runtimeTables } from '../../../support/postgres/partitioned.js'
import { query } from '../../../support/postgres/query.js'
import { testApp } from '../../../support/server/app.js'
import { until } from '../../../support/server/deliveries.js'
import { newTenant } from '../../../support/server/tenant.js'
import {
  databaseFiles,
  exportOf,
  fromPostgres,
  fromSqlite,
  makeDeliveries,
  moveInto,
  rowLinesOf,
  textOf,
  toPostgres,
} from '../../../support/store/move.js'

const filePath = databaseFiles()

describe('export of PostgreSQL', () => {
  it('export of PostgreSQL is one snapshot while servers write', async () => {
    const url = await emptyDatabase()
    const store = await openPostgresStore({ url, env: {} })
    const server = testApp({ store })
    const tenant = await newTenant(server)
    const { id } = await tenant.template({ issue_limit: 100_000 })
    await tenant.issue(id)
    let over = false
    let issued = 0
    const clerk = async () => {
      while (!over) {
        const voucher = await tenant.issue(id)
        issued += 1
        if (issued % 2 === 0) await tenant.redeem(voucher)
      }
    }
    const clerks = Promise.all([clerk(), clerk(), clerk(), clerk()])
    try {
      for (let round = 0; round < 3; round++) {
        const before = issued
        const lines = rowLinesOf(await textOf(fromPostgres(url))).map(
          (it) => JSON.parse(it) as { table: string; row: Record<string, string | number | null> },
        )
        while (issued === before) await new Promise((resolve) => setImmediate(resolve))
        const rows = <Table extends keyof Stored>(table: string) =>
          lines.filter((it) => it.table === table).map((it) => it.row) as unknown as Stored[Table]
        const stored: Stored = {
          integrity: 'ok',
          templates: rows<'templates'>('templates'),
          vouchers: rows<'vouchers'>('vouchers'),
          redemptions: rows<'redemptions'>('redemptions'),
          keys: rows<'keys'>('idempotency_keys'),
        }
        expect(breachesIn(stored)).toEqual([])
        expect(stored.vouchers.length).toBeGreaterThan(0)
      }
      await until(() => issued > 20)
    } finally {
      over = true
      await clerks
      await server.close()
      await store.close()
    }
  })

  it('export of PostgreSQL changes nothing and blocks no writer', async () => {
    const url = await emptyDatabase()
    const store = await openPostgresStore({ url, env: {} })
    const source = await fromPostgres(url)
    await exportOf(source)
    const server = testApp({ store })
    // The export still holds its snapshot, and this write must not wait.
    await newTenant(server)
    await expect(source.all('delete from tokens')).rejects.toThrow(/25006/)
    await source.close()
    await server.close()
    await store.close()
  })

  it('export of a database with an older schema has that schema version in its header', async () => {
    addLaterMigration()
    const url = await emptyDatabase()
    await query(url, `${postgresMigrations[0]?.sql}; create table voucherctl_schema (version integer)`)
    await query(url, 'insert into voucherctl_schema values (1)')
    await query(url, "insert into credential_keys values ('key_1', 'check', 1)")
    const text = await textOf(fromPostgres(url))
    expect(JSON.parse(text.split('\n')[0] as string)).toMatchObject({ schema: 1, rows: { credential_keys: 1 } })
    expect(await query(url, 'select version from voucherctl_schema')).toEqual([{ version: 1 }])
  })
})

describe('import', () => {
  let made: Promise<string> | undefined
  const filled = (): Promise<string> => {
    made ??= makeText()
    return made
  }
  const makeText = async () => {
    const path = filePath()
    const store = openSqliteStore(path)
    const server = testApp({ store })
    const tenant = await newTenant(server)
    await tenant.redeem(await tenant.issue())
    await server.close()
    await store.close()
    return textOf(fromSqlite(path))
  }

  it('import is refused by a store with rows, even only transport keys', { tags: 'export-and-import/2' }, async () => {
    const text = await filled()
    const [url, path] = [await emptyDatabase(), filePath()]
    await moveInto(await toPostgres(url), text)
    await moveInto(await openSqliteTarget(path), text)
    const refused = { code: 'STORE_NOT_EMPTY', message: expect.stringContaining('applications') }
    await expect(moveInto(await toPostgres(url), text)).rejects.toMatchObject(refused)
    await expect(moveInto(await openSqliteTarget(path), text)).rejects.toMatchObject(refused)
    const started = await emptyDatabase()
    await (await openPostgresStore({ url: started, env: {} })).close()
    await query(started, "insert into secure_keys values (1, 1, 'sealed')")
    await expect(moveInto(await toPostgres(started), text)).rejects.toMatchObject({
      code: 'STORE_NOT_EMPTY',
      message: expect.stringContaining('secure_keys'),
    })
  })

  it('import into tables partitioned by application keeps the partitions and the row order', async () => {
    const text = await filled()
    const url = await emptyDatabase()
    await createPartitioned(url, 4)
    await moveInto(await toPostgres(url), text)
    const divided = "select count(*)::int as n from pg_class where relkind = 'p'"
    expect(await query(url, divided)).toEqual([{ n: runtimeTables.length }])
    expect(rowLinesOf(await textOf(fromPostgres(url)))).toEqual(rowLinesOf(text))
  })

  it('failed import of a wrong line leaves an empty PostgreSQL database and no SQLite file', async () => {
    const lines = (await filled()).split('\n')
    const cut = lines.slice(0, -2).join('\n')
    const other = lines.with(-3, (lines.at(-3) as string).replace('"status":', '"state":')).join('\n')
    const twice = lines.toSpliced(2, 0, (lines[1] as string).replace('Shop', 'Ship')).join('\n')
    const url = await emptyDatabase()
    const path = filePath()
    for (const [text, message] of [
      [cut, /cut off after line/],
      [other, /line \d+ has other members than its table has columns/],
      [twice, /applications takes no such rows|had 1/],
    ] as const) {
      await expect(moveInto(await toPostgres(url), text)).rejects.toThrow(message)
      expect(
        await query(url, 'select relname from pg_class where relnamespace = current_schema()::regnamespace'),
      ).toEqual([])
      await expect(moveInto(await openSqliteTarget(path), text)).rejects.toThrow(message)
      expect(existsSync(path)).toBe(false)
    }
  })

  it('server that starts during an import waits and then sees every imported row', async () => {
    const url = await emptyDatabase()
    const target = await toPostgres(url)
    let opened = false
    const starting = openPostgresStore({ url, env: {} }).then((store) => {
      opened = true
      return store
    })
    await waitsForLock()
    expect(opened).toBe(false)
    await moveInto(target, await filled())
    const store = await starting
    await store.close()
    expect(await query(url, 'select count(*)::int as n from vouchers')).toEqual([{ n: 1 }])
    // In this test only the starting server can wait for an advisory lock.
    async function waitsForLock(): Promise<void> {
      const waiting = `select 1 from pg_locks l join pg_database d on d.oid = l.database
        where not l.granted and l.locktype = 'advisory' and d.datname = '${url.split('/').at(-1)}'`
      await until(async () => (await query(inject('postgresUrl'), waiting)).length > 0)
    }
  })

  it('write of a running server waits until an import has committed', async () => {
    const url = await emptyDatabase()
    const store = await openPostgresStore({ url, env: {} })
    const order: string[] = []
    const opened = await toPostgres(url)
    const target = {
      ...opened,
      commit: () => {
        order.push('import')
        return opened.commit()
      },
    }
    const text = await filled()
    const writing = store
      .write(() => run("insert into credential_keys values ('key_2', 'check', 1)"))
      .then(() => order.push('server'))
    await Promise.all([writing, moveInto(target, text)])
    expect(order).toEqual(['import', 'server'])
    await store.close()
  })

  it('import fails if the rows that it reads back are missing or changed', async () => {
    const text = await filled()
    const careless: ((rows: readonly Row[]) => readonly Row[])[] = [
      (rows) => rows.slice(1),
      (rows) => rows.map((it) => ('name' in it ? { ...it, name: `${it.name} ` } : it)),
    ]
    for (const change of careless) {
      for (const opened of [await toPostgres(await emptyDatabase()), await openSqliteTarget(filePath())]) {
        const target = { ...opened, insert: (table: Table, rows: readonly Row[]) => opened.insert(table, change(rows)) }
        await expect(moveInto(target, text)).rejects.toMatchObject({
          code: 'STORE_UNUSABLE',
          message: expect.stringMatching(/gives back other rows of applications/),
        })
      }
    }
  })

  it('import of text that the encoding of the database lacks is refused and writes nothing', async () => {
    const server = inject('postgresUrl')
    await query(server, "create database latin1 encoding 'LATIN1' template template0 locale 'C'")
    onTestFinished(async () => void (await query(server, 'drop database latin1 with (force)')))
    const url = urlOf('latin1')
    const text = (await filled()).replaceAll('Coffee shop', 'Coffee \u6f22')
    await expect(moveInto(await toPostgres(url), text)).rejects.toThrow(/takes no such rows.*LATIN1/)
    expect(
      await query(url, 'select relname from pg_class where relnamespace = current_schema()::regnamespace'),
    ).toEqual([])
  })
})

describe('lease in an export', () => {
  it('export omits leases, so deliveries are due after the import', { tags: 'export-and-import/1' }, async () => {
    const url = await emptyDatabase()
    const store = await openPostgresStore({ url, env: {} })
    const server = testApp({ store })
    await makeDeliveries(server)
    await server.close()
    await store.close()
    await query(url, "update deliveries set attempt_count = 2, next_attempt_at = 5 where status = 'failed'")
    // By id: a manual retry, a repeated attempt, first attempts.
    const ids = (await query(url, "select id from deliveries where status <> 'delivering' order by id")).map(
      (it) => it.id,
    )
    const lease = "status = 'delivering', ready = 0, lease_until = 9, last_attempt_at = 7, next_attempt_at = null"
    await query(
      url,
      `update deliveries set ${lease}, attempt_count = 3, resume_status = 'dead_letter' where id = '${ids[0]}'`,
    )
    await query(url, `update deliveries set ${lease}, attempt_count = 3, resume_status = null where id = '${ids[1]}'`)
    const path = filePath()
    await moveInto(await openSqliteTarget(path), await textOf(fromPostgres(url)))
    const db = openDatabase(path)
    const of = (where: string) =>
      db
        .prepare(
          `select status, ready, attempt_count, resume_status, lease_until, next_attempt_at from deliveries where ${where}`,
        )
        .all()
    const freed = { ready: 1, lease_until: null }
    expect(of(`id = '${ids[0]}'`)).toMatchObject([
      { ...freed, status: 'pending', attempt_count: 3, resume_status: 'dead_letter' },
    ])
    expect(of(`id = '${ids[1]}'`)).toMatchObject([{ ...freed, status: 'failed', attempt_count: 3, next_attempt_at: 7 }])
    const first = await query(url, "select id from deliveries where status = 'delivering' and attempt_count = 0")
    expect(first.length).toBeGreaterThan(0)
    for (const { id } of first)
      expect(of(`id = '${id}'`)).toMatchObject([{ ...freed, status: 'pending', attempt_count: 0 }])
    expect(of("status = 'delivering' or lease_until is not null")).toEqual([])
    closeDatabase(db)
  })
})
