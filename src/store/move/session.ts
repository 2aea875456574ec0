import type { Row } from '../operation.js'
import { instead, type Moved } from './tables.js'

/** A table as it is in this database. */
export interface Table {
  readonly name: Moved
  /** By name, so that both dialects have one order. */
  readonly columns: readonly string[]
  /** The primary key, whose order is that of the rows. */
  readonly key: readonly string[]
}

/** One connection that sees one state of a store, whichever its engine: what an export reads. */
export interface MoveSource {
  readonly dialect: 'sqlite' | 'postgres'
  /** Of the database in messages, without a password. */
  readonly name: string
  /** How many migrations it has had; 0 where there is no store. */
  schema(): Promise<number>
  /** Undefined where the schema has no such table. */
  table(name: Moved): Promise<Table | undefined>
  /** All rows of a statement of few. */
  all(sql: string): Promise<readonly Row[]>
  /** Every row of a table by its key, a bounded number at a time. */
  pages(table: Table): AsyncGenerator<readonly Row[]>
  /** Ends it; what was not committed is undone. */
  close(): Promise<void>
}

/** The same with a transaction that an import is written in, and that nobody passes. */
export interface MoveTarget extends MoveSource {
  /** Makes the tables of an empty store what they were after so many migrations. */
  become(schema: number): Promise<void>
  insert(table: Table, rows: readonly Row[]): Promise<void>
  /** Static keys of the encrypted transport, sealed; null where they are in a file beside the database. */
  readonly insertTransportKeys: ((sealed: string) => Promise<void>) | null
  /** Brings the schema up to date and commits all of it. */
  commit(): Promise<void>
}

/** Rows at a time: some hundred kilobytes. */
export const PAGE_ROWS = 1_000

export const quoted = (names: readonly string[]): string => names.map((it) => `"${it}"`).join(', ')

/** Every row as an export has it, in no order yet. */
export function selectOf({ name, columns }: Table): string {
  const other = instead[name] ?? {}
  const taken = columns.map((it) => (other[it] === undefined ? `"${it}"` : `${other[it]} as "${it}"`))
  return `select ${taken.join(', ')} from ${name}`
}

export async function countOf(session: MoveSource, { name }: Table): Promise<number> {
  const [row] = await session.all(`select count(*) as n from ${name}`)
  return Number(row?.n)
}
