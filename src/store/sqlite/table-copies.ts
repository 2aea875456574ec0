import { countedTables } from '../migrations/0002-bot-counts.js'
import type { Value } from '../operation.js'
import { releaseLeases, type Triggers } from '../snapshots.js'
import { stateTables } from '../tables.js'
import { rollBack, type SqliteDatabase } from './engine.js'

/** Runs `work` in a transaction without foreign keys. */
export function withoutForeignKeys<T>(db: SqliteDatabase, work: () => T): T {
  // The pragma has no effect inside a transaction.
  db.exec('pragma foreign_keys = off')
  try {
    db.exec('begin immediate')
    const result = work()
    db.exec('commit')
    return result
  } catch (error) {
    rollBack(db)
    throw error
  } finally {
    db.exec('pragma foreign_keys = on')
  }
}

/**
 * Copies the state tables to the attached database `copy`; returns the number of vouchers. The copy of a table has the
 * same columns and indexes, so that SQLite copies whole records and index entries without building them again. SQLite
 * skips this for tables with foreign keys or triggers, which are therefore off meanwhile.
 * @param prefix of the names of the copies and their indexes
 */
export function copyTables(db: SqliteDatabase, prefix = ''): number {
  // Creating the copy of a table takes longer than copying a few rows: skip empty tables.
  const tables = stateTables.filter((it) => db.prepare(`select 1 from main.${it} limit 1`).get() !== undefined)
  const objects = db
    .prepare(
      `select tbl_name, sql from main.sqlite_master where type in ('table', 'index') and sql is not null
       order by type = 'index'`,
    )
    .all() as { tbl_name: string; sql: string }[]
  for (const { tbl_name: table, sql } of objects) {
    if (!tables.some((it) => it === table)) continue
    db.exec(
      sql
        .replace(/^create (table|index|unique index) /i, `create $1 copy.${prefix}`)
        .replace(/^(create (?:unique )?index \S+ on) /i, `$1 ${prefix}`),
    )
  }
  for (const table of tables) db.exec(`insert into copy.${prefix}${table} select * from main.${table}`)
  const { n } = db.prepare('select count(*) as n from main.vouchers').get() as { n: number }
  return n
}

export interface TableRows {
  readonly table: string
  readonly rows: readonly Readonly<Record<string, Value>>[]
}

/** Inserts rows into empty state tables. */
export function insertRows(db: SqliteDatabase, state: readonly TableRows[]): void {
  const { off, on } = triggersOf(db)
  db.exec(off.join(';'))
  for (const { table, rows } of state) {
    const columns = Object.keys(rows[0] ?? {})
    const insert = db.prepare(`insert into main.${table} (${columns}) values (${columns.map(() => '?')})`)
    for (const row of rows) insert.run(...columns.map((it) => row[it] as Value))
  }
  db.exec([...on, ...releaseLeases].join(';'))
}

/** Replaces the rows of the state tables with the copied rows. */
export function replaceTables(db: SqliteDatabase, prefix = ''): void {
  emptyTables(db)
  const copies = db.prepare("select name from copy.sqlite_master where type = 'table'").all()
  const names = (copies as { name: string }[]).map((it) => it.name)
  const copied = stateTables.filter((it) => names.includes(prefix + it))
  const insertions = copied.map((it) => `insert into main.${it} select * from copy.${prefix}${it}`)
  const { off, on } = triggersOf(db)
  db.exec([...off, ...insertions, ...on, ...releaseLeases].join(';'))
}

/** Deletes the rows of the state tables. */
export function emptyTables(db: SqliteDatabase): void {
  const { off, on } = triggersOf(db)
  db.exec([...off, ...stateTables.map((it) => `delete from main.${it}`), ...on].join(';'))
}

/** For up to this many rows, triggers run faster than SQLite drops them, creates them and prepares all statements again. */
const TRIGGERED_ROWS_MAX = 100

/** Triggers that are off while all rows are deleted; undefined if their tables have few rows. */
export function triggersToTurnOff(db: SqliteDatabase): Triggers | undefined {
  const large = countedTables.map((it) => `exists (select 1 from main.${it} limit 1 offset ${TRIGGERED_ROWS_MAX})`)
  return db.prepare(`select 1 where ${large.join(' or ')}`).get() === undefined ? undefined : triggersOf(db)
}

function triggersOf(db: SqliteDatabase): Triggers {
  const found = db.prepare("select name, sql from main.sqlite_master where type = 'trigger'").all()
  const triggers = found as { name: string; sql: string }[]
  return { off: triggers.map(({ name }) => `drop trigger main."${name}"`), on: triggers.map(({ sql }) => sql) }
}
