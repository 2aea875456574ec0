import { createRequire } from 'node:module'
import process from 'node:process'
import { runInThisContext } from 'node:vm'
import type { Row, Statement, Value } from '../operation.js'
import { StoreUnusable } from '../store.js'

/** The part of the API of node:sqlite and @photostructure/sqlite that the store uses. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
  /** Missing in @photostructure/sqlite and in older versions of node:sqlite, like `deserialize`. */
  serialize?(): Uint8Array
  deserialize?(image: Uint8Array): void
}

export interface SqliteStatement {
  get(...values: readonly Value[]): unknown
  all(...values: readonly Value[]): unknown[]
  run(...values: readonly Value[]): { changes: number | bigint }
  /** Missing before Node 22.16. */
  setReturnArrays?(on: true): void
  columns(): { name: string }[]
}

/** SQLite's primary result codes that the store distinguishes. */
type SqliteProblem = 'constraint' | 'statement' | 'busy' | 'full' | 'io' | 'damaged' | 'not_a_database' | 'other'

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

/** True for an error caused by the operation; false for an error caused by the state of the database. */
export function isOfOperation(problem: SqliteProblem | null): boolean {
  return problem === null || problem === 'constraint' || problem === 'statement'
}

/** Maps the primary result code of an error, the low byte of the extended code. Null: not an error of SQLite. */
export function sqliteProblemOf(error: unknown): SqliteProblem | null {
  // Not `instanceof Error`: in Jest and in vmThreads of Vitest, errors of Node have another class.
  if (typeof error !== 'object' || error === null) return null
  const code = 'errcode' in error ? error.errcode : null
  if (typeof code === 'number') return PROBLEMS[code & 0xff] ?? 'other'
  // The all() of @photostructure/sqlite 1.2.1 throws errors without `errcode`, such as for a damaged page.
  return 'code' in error && error.code === 'ERR_SQLITE_ERROR' ? 'other' : null
}

interface SqliteLibrary {
  readonly DatabaseSync: new (path: string) => SqliteDatabase
}

/** Node 22.13 and later have SQLite built in; Node 20 uses the optional dependency. */
function loadSqlite(): SqliteLibrary {
  const builtIn = builtInSqlite()
  if (builtIn !== undefined) return builtIn
  try {
    return createRequire(fileOrProgram())('@photostructure/sqlite') as SqliteLibrary
  } catch (cause) {
    throw new StoreUnusable(
      'SQLITE_MISSING',
      `The server needs SQLite. Node ${process.versions.node} has none, and @photostructure/sqlite is not installed or has no binary for ${process.platform}-${process.arch}. Use Node 22.13 or later, or reinstall voucherctl without --omit=optional.`,
      { cause },
    )
  }
}

/** URL of this file, or path of the program if that fails, because a bundler turned the CommonJS server into ESM. */
function fileOrProgram(): string {
  try {
    return import.meta.url
  } catch {
    return process.argv[1] ?? ''
  }
}

/** Loads node:sqlite and suppresses its ExperimentalWarning, which Node 22 prints. */
function builtInSqlite(): SqliteLibrary | undefined {
  // Jest gives each test file a copy of the process object; the warning goes to the original.
  const original = runInThisContext('process') as typeof process
  const emitWarning = original.emitWarning
  original.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!/SQLite/.test(String(warning))) emitWarning.call(original, warning, ...rest)
  }) as typeof process.emitWarning
  try {
    return process.getBuiltinModule?.('node:sqlite') as SqliteLibrary | undefined
  } finally {
    original.emitWarning = emitWarning
  }
}

/** @throws StoreUnusable when this Node has no SQLite */
export function openDatabase(path: string): SqliteDatabase {
  return new (loadSqlite().DatabaseSync)(path)
}

/**
 * Closes the database. Releases its lock first (unless in WAL mode), because @photostructure/sqlite 1.2.1 keeps a
 * closed connection until its statements are garbage-collected.
 */
export function closeDatabase(db: SqliteDatabase): void {
  try {
    db.exec('pragma locking_mode = normal; select count(*) from sqlite_master')
  } catch {
    // SQLite cannot read the file; the lock ends with the process.
  } finally {
    db.close()
  }
}

/** A prepared statement with parameters by `$` number and rows as objects. */
export interface PreparedStatement {
  get(params: readonly Value[]): Row | undefined
  all(params: readonly Value[]): Row[]
  run(params: readonly Value[]): number
}

/**
 * Prepares SQL with `$1` parameters. Binding by name and building row objects cost SQLite about twice as much as
 * positions and arrays, so this turns `$1` into `?` and reads rows as arrays where the library supports it.
 *
 * To undo a statement that fails halfway, SQLite copies each page before a statement with triggers changes it. With
 * `or fail` it does not; the caller must roll back.
 */
export function prepareStatement(db: SqliteDatabase, sql: string): PreparedStatement {
  const order: number[] = []
  const statement = db.prepare(
    sql
      .replaceAll(/\$(\d+)/g, (_, number) => {
        order.push(Number(number) - 1)
        return '?'
      })
      .replace(/^\s*(?:insert|update)\b/i, '$& or fail'),
  )
  const inOrder = order.every((number, index) => number === index)
  const valuesOf = (params: readonly Value[]): readonly Value[] => {
    const values = inOrder && params.length === order.length ? params : order.map((index) => params[index] as Value)
    const missing = (values as readonly (Value | undefined)[]).indexOf(undefined)
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

/** Runs a statement of an operation. */
export type Perform = (statement: Statement) => unknown

/** Inlines the look-up of prepared statements: an extra call per statement is measurable in a redeem. */
export function executor(db: SqliteDatabase, prepared: Map<string, PreparedStatement>): Perform {
  return ({ kind, sql, params }) => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = prepareStatement(db, sql)
      prepared.set(sql, statement)
    }
    return statement[kind === 'one' ? 'get' : kind](params)
  }
}

export function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('rollback')
  } catch {
    // SQLite rolls back automatically after most errors, such as a full disk.
  }
}

/** Compiles a function that builds row objects: assigning computed names would take as long as reading the row. */
function rowReader(names: readonly string[] | null): (found: unknown) => Row {
  if (names === null) return (found) => found as Row
  const members = names.map((name, index) => `${JSON.stringify(name)}: values[${index}]`)
  return new Function('values', `return { ${members.join(', ')} }`) as (found: unknown) => Row
}

/** Switches a statement to array rows and returns its column names; null if the library does not support it. */
function columnsOf(statement: SqliteStatement): string[] | null {
  if (statement.setReturnArrays === undefined) return null
  statement.setReturnArrays(true)
  return statement.columns().map(({ name }) => name)
}

/** Maximum number of cached rows per statement. */
const KEPT_MAX = 10_000

/**
 * Cache for the rows of statements with `keep`. A write to a table discards the rows that were read from it. Correct
 * only because no other connection writes the file (open.ts).
 */
export class RowCache {
  /** Cached rows by SQL, then by parameters. */
  readonly #rows = new Map<string, Map<string, unknown>>()
  readonly #tables = new Set<string>()
  /** Whether the SQL of a write invalidates the cache. Cleared when a new statement reads the cache. */
  readonly #concerns = new Map<string, boolean>()

  /** Returns the cached row of a statement, or the result of `read`. */
  row({ sql, params }: Statement, read: () => unknown): unknown {
    let rows = this.#rows.get(sql)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(sql, rows)
      this.#concerns.clear()
      for (const table of tablesReadBy(sql)) this.#tables.add(table)
    }
    const key = params.map(text).join(' ')
    if (rows.has(key)) return rows.get(key)
    if (rows.size >= KEPT_MAX) rows.clear()
    const row = read()
    rows.set(key, row)
    return row
  }

  /** Invalidates the cache after a write. Call `written` for every writing statement before the next read. */
  written(sql: string): void {
    let concerns = this.#concerns.get(sql)
    if (concerns === undefined) {
      const table = tableWrittenBy(sql)
      concerns = table === undefined || this.#tables.has(table)
      this.#concerns.set(sql, concerns)
    }
    if (concerns) this.clear()
  }

  /** Discards all rows, for a write outside of the statements of operations. */
  clear(): void {
    for (const rows of this.#rows.values()) rows.clear()
  }
}

/** Encodes a parameter with its length, so that different parameter lists have different cache keys. */
function text(value: Value): string {
  return typeof value === 'string' ? `${value.length}:${value}` : String(value)
}

/** Statements of this store name each table after `from` or `join`, never in a comma-separated list. */
function tablesReadBy(sql: string): string[] {
  return [...sql.matchAll(/\b(?:from|join)\s+(\w+)/gi)].map((match) => (match[1] as string).toLowerCase())
}

/** Returns the table that a statement writes; undefined for an unknown form, which counts as a write to every table. */
function tableWrittenBy(sql: string): string | undefined {
  return /^\s*(?:insert\s+into|update|delete\s+from)\s+(\w+)/i.exec(sql)?.[1]?.toLowerCase()
}
