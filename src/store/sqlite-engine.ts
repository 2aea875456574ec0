import { createRequire } from 'node:module'
import process from 'node:process'
import type { Row, Value } from './operation.js'
import { StoreUnusable } from './store.js'

/** Takes its values in the order of its `?`: the form that both libraries take fastest. */
export interface SqliteStatement {
  get(...values: readonly Value[]): unknown
  all(...values: readonly Value[]): unknown[]
  run(...values: readonly Value[]): { changes: number | bigint }
  /** better-sqlite3: rows as arrays. */
  raw?(on: true): unknown
  /** node:sqlite, from 22.16 on: rows as arrays. */
  setReturnArrays?(on: true): void
  columns?(): { name: string }[]
}

/** What node:sqlite and better-sqlite3 have in common. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

/** SQLite's primary result codes that the store tells apart. */
export type SqliteProblem = 'constraint' | 'statement' | 'busy' | 'full' | 'io' | 'damaged' | 'not_a_database' | 'other'

const PROBLEMS: Record<number, SqliteProblem> = {
  1: 'statement',
  5: 'busy',
  10: 'io',
  11: 'damaged',
  13: 'full',
  18: 'statement',
  19: 'constraint',
  20: 'statement',
  25: 'statement',
  26: 'not_a_database',
}
const NAMED_PROBLEMS: Record<string, SqliteProblem> = {
  SQLITE_ERROR: 'statement',
  SQLITE_TOOBIG: 'statement',
  SQLITE_MISMATCH: 'statement',
  SQLITE_RANGE: 'statement',
  SQLITE_BUSY: 'busy',
  SQLITE_IOERR: 'io',
  SQLITE_CORRUPT: 'damaged',
  SQLITE_FULL: 'full',
  SQLITE_CONSTRAINT: 'constraint',
  SQLITE_NOTADB: 'not_a_database',
}

/** True for what one operation did wrong; anything else is the state of the database. */
export function isOfOperation(problem: SqliteProblem | null): boolean {
  return problem === null || problem === 'constraint' || problem === 'statement'
}

/** node:sqlite carries a number (its low byte is the primary code), better-sqlite3 a name. Null: not SQLite's. */
export function sqliteProblemOf(error: unknown): SqliteProblem | null {
  if (!(error instanceof Error)) return null
  const { errcode, code } = error as { errcode?: unknown; code?: unknown }
  if (typeof errcode === 'number') return PROBLEMS[errcode & 0xff] ?? 'other'
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return null
  return NAMED_PROBLEMS[code.split('_', 2).join('_')] ?? 'other'
}

type OpenDatabase = (path: string) => SqliteDatabase

/** Node 22.13 and later have SQLite built in; Node 20 uses the optional dependency better-sqlite3. */
function findEngine(): OpenDatabase {
  const builtin = builtinSqlite()
  if (builtin !== undefined) return (path) => new builtin.DatabaseSync(path)
  try {
    const BetterSqlite = createRequire(import.meta.url)('better-sqlite3') as new (path: string) => SqliteDatabase
    return (path) => new BetterSqlite(path)
  } catch (cause) {
    throw new StoreUnusable(
      'SQLITE_MISSING',
      `The server needs SQLite, and this Node ${process.versions.node} has none: its optional dependency better-sqlite3 is not installed or was built for another Node. Use Node 22.13 or later, or run npm rebuild better-sqlite3.`,
      { cause },
    )
  }
}

/** Loads node:sqlite without its ExperimentalWarning (printed by Node 22); any other warning passes. */
function builtinSqlite(): { DatabaseSync: new (path: string) => SqliteDatabase } | undefined {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!/SQLite/.test(String(warning))) emitWarning.call(process, warning, ...rest)
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule?.('node:sqlite') as ReturnType<typeof builtinSqlite>
  } finally {
    process.emitWarning = emitWarning
  }
}

/** @throws StoreUnusable when this Node has no SQLite */
export function openDatabase(path: string): SqliteDatabase {
  return findEngine()(path)
}

/** A statement of an operation, made ready: its parameters by `$` number, its rows as objects. */
export interface PreparedStatement {
  get(params: readonly Value[]): Row | undefined
  all(params: readonly Value[]): Row[]
  run(params: readonly Value[]): number
}

/**
 * Prepares SQL with `$1` parameters. Both libraries bind names and build row objects at about twice the cost of
 * positions and arrays, so names end here: `$1` becomes `?`, and rows are read as arrays where the library can.
 */
export function prepareStatement(db: SqliteDatabase, sql: string): PreparedStatement {
  const order: number[] = []
  const statement = db.prepare(
    sql.replaceAll(/\$(\d+)/g, (_, number) => {
      order.push(Number(number) - 1)
      return '?'
    }),
  )
  const inOrder = order.every((number, index) => number === index)
  const valuesOf = (params: readonly Value[]): readonly Value[] => {
    const values = inOrder && params.length === order.length ? params : order.map((index) => params[index] as Value)
    const missing = values.indexOf(undefined as unknown as Value)
    if (missing !== -1) throw new TypeError(`parameter $${(order[missing] as number) + 1} is undefined in: ${sql}`)
    return values
  }
  const rowOf = rowReader(columnsOf(statement))
  return {
    get(params) {
      const found = statement.get(...valuesOf(params))
      return found === undefined ? undefined : rowOf(found)
    },
    all: (params) => statement.all(...valuesOf(params)).map(rowOf),
    run: (params) => Number(statement.run(...valuesOf(params)).changes),
  }
}

/** A function made for these columns: filling an object by computed names takes as long as reading the row. */
function rowReader(names: readonly string[] | null): (found: unknown) => Row {
  if (names === null) return (found) => found as Row
  const members = names.map((name, index) => `${JSON.stringify(name)}: values[${index}]`)
  return new Function('values', `return { ${members.join(', ')} }`) as (found: unknown) => Row
}

/** The names of a statement whose rows come as arrays from now on; null where they stay objects. */
function columnsOf(statement: SqliteStatement): string[] | null {
  if (statement.columns === undefined) return null
  if (statement.setReturnArrays !== undefined) statement.setReturnArrays(true)
  // better-sqlite3 knows by itself which statements answer rows, and refuses this for the others.
  else if (statement.raw !== undefined && (statement as { reader?: boolean }).reader) statement.raw(true)
  else return null
  return statement.columns().map(({ name }) => name)
}
