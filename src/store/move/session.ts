import type { Row } from '../operation.js'
import { columnOverrides, type ExportedTable } from '../tables.js'

/** A table of an exported or imported database. */
export interface Table {
  readonly name: ExportedTable
  /** Column names, sorted so that both engines have the same order. */
  readonly columns: readonly string[]
  /** Columns of the primary key, by which an export sorts the rows. */
  readonly key: readonly string[]
}

/** Source of an export: one connection that reads a consistent snapshot of either engine. */
export interface MoveSource {
  readonly dialect: 'sqlite' | 'postgres'
  /** Name of the database in messages, without a password. */
  readonly name: string
  /** Schema version; 0 for an empty database. */
  schema(): Promise<number>
  /** Undefined if the schema has no such table. */
  table(name: ExportedTable): Promise<Table | undefined>
  /** Runs a statement that returns few rows. */
  all(sql: string): Promise<readonly Row[]>
  /** Yields every row of a table in key order, in pages of bounded size. */
  pages(table: Table): AsyncGenerator<readonly Row[]>
  /** Rolls back an open transaction and closes the connection. */
  close(): Promise<void>
}

/** Target of an import: a connection with an open transaction that excludes all other writers. */
export interface MoveTarget extends MoveSource {
  /** Creates the tables of this schema version in an empty store. */
  createSchema(schema: number): Promise<void>
  insert(table: Table, rows: readonly Row[]): Promise<void>
  /** Stores the encrypted transport keys; null for SQLite, whose server stores these keys in a file. */
  readonly insertTransportKeys: ((sealed: string) => Promise<void>) | null
  /** Migrates the schema to the current version and commits. */
  commit(): Promise<void>
}

/** Rows per page of an export, a few hundred kilobytes. */
export const PAGE_ROWS = 1_000

export const quoted = (names: readonly string[]): string => names.map((it) => `"${it}"`).join(', ')

/** SQL that selects every row in export form, unordered. */
export function selectOf({ name, columns }: Table): string {
  const other = columnOverrides[name] ?? {}
  const taken = columns.map((it) => (other[it] === undefined ? `"${it}"` : `${other[it]} as "${it}"`))
  return `select ${taken.join(', ')} from ${name}`
}

export async function countOf(session: MoveSource, { name }: Table): Promise<number> {
  const [row] = await session.all(`select count(*) as n from ${name}`)
  return Number(row?.n)
}
