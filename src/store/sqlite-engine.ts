import { createRequire } from 'node:module'
import process from 'node:process'
import { StoreUnusable } from './store.js'

/** Values by parameter number: `{ 1: a, 2: b }` for `$1` and `$2`. The one form that both libraries take. */
export type Bound = Record<number, string | number | null>

export interface SqliteStatement {
  get(bound: Bound): unknown
  all(bound: Bound): unknown[]
  run(bound: Bound): { changes: number | bigint }
}

/** What node:sqlite and better-sqlite3 have in common. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

/** SQLite's primary result codes that the store tells apart. */
export type SqliteProblem = 'constraint' | 'busy' | 'full' | 'io' | 'damaged' | 'not_a_database' | 'other'

const PROBLEMS: Record<number, SqliteProblem> = {
  5: 'busy',
  10: 'io',
  11: 'damaged',
  13: 'full',
  19: 'constraint',
  26: 'not_a_database',
}
const NAMED_PROBLEMS: Record<string, SqliteProblem> = {
  SQLITE_BUSY: 'busy',
  SQLITE_IOERR: 'io',
  SQLITE_CORRUPT: 'damaged',
  SQLITE_FULL: 'full',
  SQLITE_CONSTRAINT: 'constraint',
  SQLITE_NOTADB: 'not_a_database',
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
