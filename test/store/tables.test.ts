import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/store.js'
import { openSqliteFile } from '../../src/store/sqlite/open.js'
import {
  columnOverrides,
  derivedTables,
  exportedTables,
  headerTables,
  transientTables,
} from '../../src/store/tables.js'
import { takeDatabase } from '../support/postgres/database.js'
import { onPostgres } from '../support/store/engine-name.js'

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  /** Position of the column in the primary key; 0 if the primary key does not have the column. */
  readonly key: number
  /** Whether the column has a default or a sequence. */
  readonly counts: boolean
  /** Collation of a text column on PostgreSQL; null on SQLite. */
  readonly collation: string | null
}

function columnsOnSqlite(): readonly Column[] {
  const db = openSqliteFile(':memory:')
  try {
    const found = db
      .prepare(
        `select m.name as "table", c.name, lower(c.type) as type, c.pk as key, null as collation,
           c.dflt_value is not null or m.sql like '%autoincrement%' as counts
         from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' order by 1, 2`,
      )
      .all() as Column[]
    return found.map((it) => ({ ...it, counts: Boolean(it.counts) }))
  } finally {
    db.close()
  }
}

async function columnsOnPostgres(): Promise<readonly Column[]> {
  const database = takeDatabase()
  const url = await database.url
  await (await openPostgresStore({ url, env: {} })).close()
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const found = await client.query<Column>(
      `select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
         coalesce(array_position(i.indkey::int2[], a.attnum), -1) + 1 as key, l.collname as collation,
         a.atthasdef or a.attidentity <> '' as counts
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
       left join pg_collation l on l.oid = a.attcollation
       where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and c.relname <> 'voucherctl_schema'
       order by 1, 2`,
    )
    return found.rows
  } finally {
    await client.end()
    database.release()
  }
}

const columns = onPostgres ? await columnsOnPostgres() : columnsOnSqlite()
const tables = [...new Set(columns.map((it) => it.table))]

describe('tables of an export', () => {
  it('export covers every table of the schema (see the lists in src/store/tables.ts)', () => {
    const onlyPostgres = [...transientTables, ...headerTables]
    expect(tables.sort()).toEqual([...exportedTables, ...derivedTables, ...(onPostgres ? onlyPostgres : [])].sort())
  })

  it('exported columns have only text and integer types, which SQLite, PostgreSQL and JSON have', () => {
    const known = onPostgres ? ['text', 'integer', 'bigint'] : ['text', 'integer']
    expect(columns.filter((it) => !known.includes(it.type))).toEqual([])
  })

  it('every table that is not derived has a primary key whose text columns are compared as bytes', () => {
    const keys = columns.filter((it) => it.key > 0)
    const isDerived = (table: string) => derivedTables.some((it) => it === table)
    expect(tables.filter((it) => !isDerived(it) && !keys.some((key) => key.table === it))).toEqual([])
    if (onPostgres) expect(keys.filter((it) => it.type === 'text' && it.collation !== 'C')).toEqual([])
  })

  it('columns whose values the export replaces exist in their tables', () => {
    for (const [table, replaced] of Object.entries(columnOverrides)) {
      const names = columns.filter((it) => it.table === table).map((it) => it.name)
      expect(names).toEqual(expect.arrayContaining(Object.keys(replaced)))
    }
  })

  it('exported tables have neither defaults nor sequences, which an import could not restore', () => {
    const names: readonly string[] = [...exportedTables, ...headerTables]
    expect(columns.filter((it) => it.counts && names.includes(it.table))).toEqual([])
  })

  it.runIf(onPostgres)('exported tables have the same columns on SQLite and PostgreSQL', () => {
    const named = (all: readonly Column[]) =>
      all
        .filter((it) => exportedTables.some((name) => name === it.table))
        .map((it) => `${it.table}.${it.name}.${it.key}`)
    expect(named(columns)).toEqual(named(columnsOnSqlite()))
  })
})
