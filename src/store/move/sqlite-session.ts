import { existsSync } from 'node:fs'
import type { Row, Value } from '../operation.js'
import { executor, rollBack, type SqliteDatabase } from '../sqlite/engine.js'
import { migrations } from '../sqlite/migrations.js'
import { closeSqliteFile, openSqliteFile, removeSqliteFile } from '../sqlite/open.js'
import { allTables, type ExportedTable } from '../tables.js'
import { type MoveSource, type MoveTarget, PAGE_ROWS, quoted, selectOf, type Table } from './session.js'

/**
 * Opens the database of a stopped server without migrating its schema.
 * @returns undefined if the file does not exist
 * @throws StoreUnusable, for example while a server uses the file
 */
export function openSqliteSource(path: string): MoveSource | undefined {
  return existsSync(path) ? sourceOf(openSqliteFile(path, { migrates: false }), path) : undefined
}

/** Opens or creates the database of an import. @throws StoreUnusable, for example while a server uses the file */
export async function openSqliteTarget(path: string): Promise<MoveTarget> {
  // Until the first commit, a failed import removes the file that it created.
  let removesFile = !existsSync(path)
  const db = openSqliteFile(path)
  const perform = executor(db, new Map())
  const source = sourceOf(db, path)
  let isOpen = false
  const close = async () => {
    if (isOpen) rollBack(db)
    if (removesFile) removeSqliteFile(db, path)
    else closeSqliteFile(db, path)
  }
  try {
    // Empty the journal first: it then holds only the import, which can discard the journal when the disk is full.
    db.exec('pragma wal_checkpoint(truncate); begin immediate')
    isOpen = true
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...source,
    close,
    async createSchema(schema) {
      if (schema === (await source.schema())) return
      for (const name of allTables.toReversed()) db.exec(`drop table if exists ${name}`)
      for (const { sql } of migrations.slice(0, schema)) db.exec(sql)
      db.exec(`pragma user_version = ${schema}`)
    },
    async insert({ name, columns }, rows) {
      const places = columns.map((_, index) => `$${index + 1}`).join(', ')
      const sql = `insert into ${name} (${quoted(columns)}) values (${places})`
      for (const row of rows) perform({ kind: 'run', sql, params: columns.map((it) => row[it] as Value) })
    },
    insertTransportKeys: null,
    async commit() {
      for (const { sql } of migrations.slice(await source.schema())) db.exec(sql)
      removesFile = false
      db.exec(`pragma user_version = ${migrations.length}; commit`)
      isOpen = false
    },
  }
}

function sourceOf(db: SqliteDatabase, path: string): MoveSource {
  const perform = executor(db, new Map())
  const all = (sql: string, params: readonly Value[] = []) => perform({ kind: 'all', sql, params }) as Row[]
  return {
    dialect: 'sqlite',
    name: path,
    schema: async () => Number(all('pragma user_version')[0]?.user_version),
    all: async (sql) => all(sql),
    async table(name: ExportedTable): Promise<Table | undefined> {
      const found = all('select name, pk from pragma_table_info($1)', [name])
      if (found.length === 0) return undefined
      const key = found.filter((it) => Number(it.pk) > 0).sort((a, b) => Number(a.pk) - Number(b.pk))
      const named = (rows: readonly Row[]) => rows.map((it) => String(it.name))
      return { name, columns: named(found).sort(), key: named(key) }
    },
    async *pages(table) {
      const key = quoted(table.key)
      const places = table.key.map((_, index) => `$${index + 1}`).join(', ')
      const rest = `order by ${key} limit ${PAGE_ROWS}`
      for (let after: readonly Value[] = []; ; ) {
        const where = after.length === 0 ? '' : `where (${key}) > (${places})`
        const rows = all(`${selectOf(table)} ${where} ${rest}`, after)
        const last = rows.at(-1)
        if (last === undefined) return
        yield rows
        if (rows.length < PAGE_ROWS) return
        after = table.key.map((it) => last[it] as Value)
      }
    },
    close: async () => closeSqliteFile(db, path),
  }
}
