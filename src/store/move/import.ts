import { DatabaseFailure } from '../postgres/errors.js'
import { isOfOperation, sqliteProblemOf } from '../sqlite/engine.js'
import { StoreUnusable } from '../store.js'
import { exportedTables, headerTables, isExportedTable } from '../tables.js'
import { sumsOf } from './export.js'
import { type Checksums, ExportUnusable } from './format.js'
import type { ParsedExport, RowBatch } from './read.js'
import type { MoveSource, MoveTarget, Table } from './session.js'

/** Thrown for a target that already has rows: an import does not merge stores. */
class StoreNotEmpty extends Error {
  override readonly name = 'StoreNotEmpty'
  readonly code = 'STORE_NOT_EMPTY'
}

/** @throws StoreNotEmpty */
export async function requireEmpty(target: MoveSource): Promise<void> {
  if ((await target.schema()) === 0) return
  for (const name of [...exportedTables, ...(target.dialect === 'postgres' ? headerTables : [])]) {
    if (isExportedTable(name) && (await target.table(name)) === undefined) continue
    if ((await target.all(`select 1 as n from ${name} limit 1`)).length === 0) continue
    const how =
      target.dialect === 'postgres'
        ? 'Make a new database (createdb), and name that with --database-url.'
        : 'Choose another folder with --data, or move the database away.'
    throw new StoreNotEmpty(
      `${target.name} has rows in ${name}: an import needs a store that no server has been started on. ${how}`,
    )
  }
}

/**
 * Writes an export into an empty store, then reads every row back and compares checksums with the file. The caller
 * commits.
 * @param onRows called with the number of rows written; an exception from it ends the import
 * @throws ExportUnusable, StoreUnusable
 */
export async function importRows(
  target: MoveTarget,
  { header, rows }: ParsedExport,
  onRows: (count: number) => void,
): Promise<Checksums> {
  await target.createSchema(header.schema)
  const tables = new Map<string, Table>()
  let writing: Promise<void> = Promise.resolve()
  try {
    for (;;) {
      const next = await rows.next()
      await writing
      if (next.done) {
        await verifyRows(target, next.value, onRows)
        return next.value
      }
      const read = next.value
      const table = tables.get(read.table) ?? (await target.table(read.table))
      if (table === undefined)
        throw new ExportUnusable(`line ${read.firstLine}: schema ${header.schema} has no ${read.table}`)
      tables.set(read.table, table)
      requireColumns(table, read)
      // Read the next lines while the database inserts these rows.
      writing = insert(target, table, read).then(() => onRows(read.rows.length))
      writing.catch(() => {})
    }
  } finally {
    await writing.catch(() => {})
  }
}

function requireColumns({ columns }: Table, { rows, firstLine }: RowBatch): void {
  for (const [index, row] of rows.entries()) {
    const names = Object.keys(row)
    if (names.length !== columns.length || !columns.every((it) => Object.hasOwn(row, it)))
      throw new ExportUnusable(`line ${firstLine + index} has other members than its table has columns`)
  }
}

async function insert(target: MoveTarget, table: Table, { rows, firstLine, lastLine }: RowBatch): Promise<void> {
  try {
    await target.insert(table, rows)
  } catch (error) {
    const refused =
      error instanceof DatabaseFailure
        ? error.problem === 'constraint' || error.problem === 'statement'
        : sqliteProblemOf(error) !== null && isOfOperation(sqliteProblemOf(error))
    if (!refused) throw error
    const { message } = error as Error
    throw new ExportUnusable(`${table.name} takes no such rows (lines ${firstLine} to ${lastLine}): ${message}`)
  }
}

async function verifyRows(target: MoveTarget, written: Checksums, onRows: (count: number) => void): Promise<void> {
  const found = await sumsOf(target, () => onRows(0))
  const differs = exportedTables.find(
    (it) => found.rows[it] !== written.rows[it] || found.sha256[it] !== written.sha256[it],
  )
  if (differs === undefined) return
  throw new StoreUnusable(
    'STORE_UNUSABLE',
    `${target.name} gives back other rows of ${differs} than it was given; nothing was imported. Its encoding must be UTF-8.`,
  )
}
