import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { StoreUnusable } from '../store.js'
import { closeDatabase, openDatabase, rollBack, type SqliteDatabase, sqliteProblemOf } from './engine.js'
import { migrations } from './migrations.js'

/** SQLite's application_id of this program: "vchr". */
const APPLICATION_ID = 0x76636872

const PAGE_BYTES_MIN = 512

/** Checkpoint after 64 MB of journal: fewer checkpoints write a page that changes often less often. */
const CHECKPOINT_PAGES = 16_000

/**
 * Size of the page cache. 64 MB hold the inner pages of every index that an API call reads, even with millions of
 * vouchers. A larger cache slows down commits that split a page: SQLite then walks the cache's whole hash table.
 */
const CACHE_KIB = 65_536

/** Maximum size of a database that a server start checks, in 0.15 s (rules/server.md#check-of-the-database). */
const CHECKED_AT_START_BYTES = 16 * 1024 * 1024

/**
 * Opens or creates the database for this process alone and migrates its schema.
 *
 * Exclusive locking mode allows one connection only, and the lock ends with the process. SQLite's WAL-reset race
 * between two connections (3.7.0 to 3.51.2) therefore cannot happen with any version.
 * @param path a file, or `:memory:`
 * @param migrates false does not migrate an older schema
 * @throws StoreUnusable with advice for the user
 */
export function openSqliteFile(path: string, { migrates = true } = {}): SqliteDatabase {
  const inMemory = path === ':memory:'
  if (!inMemory && !existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const size = inMemory ? 0 : statSync(path).size
  // SQLite treats a file that is too short for a header as empty and would overwrite it.
  if (size > 0 && size < PAGE_BYTES_MIN) throw damaged(path, new Error(`${size} bytes are no database`))
  let db: SqliteDatabase | undefined
  try {
    db = openDatabase(path)
    db.exec('pragma busy_timeout = 1000')
    const mode = pragma(db, 'locking_mode = exclusive')
    // Larger pages than in files, so that snapshots copy fewer of them.
    if (inMemory) db.exec('pragma page_size = 8192')
    else requireOneConnection(db, mode)
    db.exec(
      'pragma synchronous = full; pragma foreign_keys = on; pragma temp_store = memory; ' +
        // On macOS, fsync leaves what it syncs in the memory of the disk.
        'pragma fullfsync = on; pragma checkpoint_fullfsync = on; ' +
        `pragma cache_size = ${-CACHE_KIB}; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
    )
    // Lock before the check: otherwise two servers that start could both hold a shared lock that neither can upgrade.
    db.exec('begin exclusive; commit')
    refuseForeign(db, path)
    if (size > 0 && size <= CHECKED_AT_START_BYTES) refuseDamaged(db, path)
    pragma(db, 'journal_mode = wal')
    db.exec('begin immediate; commit')
    if (migrates && inMemory) createInMemory(db, path)
    else if (migrates) migrate(db, path)
    return db
  } catch (error) {
    if (db !== undefined) closeDatabase(db)
    throw explain(error, path)
  }
}

/**
 * Closes the database in rollback mode, so that the file is complete without a journal and SQLite releases its lock.
 * The caller must have committed.
 */
export function closeSqliteFile(db: SqliteDatabase, path: string): void {
  try {
    if (path !== ':memory:') db.exec('pragma journal_mode = delete')
  } catch {
    // The disk is full: the next start reads the journal, which stays.
  } finally {
    closeDatabase(db)
  }
}

/** Removes the file while it is locked. Leaves WAL mode first, in which closing would delete the journal by name. */
export function removeSqliteFile(db: SqliteDatabase, path: string): void {
  try {
    db.exec('pragma journal_mode = delete')
    rmSync(path)
  } catch {
    // If the disk fails or the system cannot remove open files, an empty database remains, which an import accepts.
  } finally {
    closeDatabase(db)
  }
}

export const pragma = (db: SqliteDatabase, text: string): unknown => firstValue(db, `pragma ${text}`)

function firstValue(db: SqliteDatabase, sql: string): unknown {
  const row = db.prepare(sql).get()
  return row === undefined ? undefined : Object.values(row as object)[0]
}

/** Requires an SQLite version without the WAL-reset race if the file system cannot exclude a second connection. */
function requireOneConnection(db: SqliteDatabase, lockingMode: unknown): void {
  if (lockingMode === 'exclusive') return
  const version = firstValue(db, 'select sqlite_version()') as string
  if (isSafeWithTwoConnections(version)) return
  throw new StoreUnusable(
    'STORE_UNUSABLE',
    `SQLite ${version} can lose data when two connections share a file, and this file cannot be held by one alone. Use a Node whose SQLite is 3.51.3 or later.`,
  )
}

/** True for an SQLite version without the WAL-reset race. @param version such as `3.51.2` */
export function isSafeWithTwoConnections(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major * 1_000_000 + minor * 1000 + patch >= 3_051_003
}

function refuseForeign(db: SqliteDatabase, path: string): void {
  const id = pragma(db, 'application_id')
  const version = pragma(db, 'user_version') as number
  const tables = firstValue(db, 'select count(*) from sqlite_master') as number
  if (id !== APPLICATION_ID && (tables > 0 || id !== 0)) {
    throw new StoreUnusable(
      'STORE_UNUSABLE',
      `${path} is the database of another program. Choose another folder with --data.`,
    )
  }
  if (version > migrations.length) {
    throw new StoreUnusable(
      'STORE_UNUSABLE',
      `${path} was written by a newer voucherctl (schema ${version}, this one knows ${migrations.length}). Use that version, or another folder with --data.`,
    )
  }
}

function refuseDamaged(db: SqliteDatabase, path: string): void {
  const verdict = pragma(db, 'quick_check(1)')
  if (verdict !== 'ok') throw damaged(path, new Error(String(verdict)))
}

function damaged(path: string, cause: unknown): StoreUnusable {
  return new StoreUnusable(
    'STORE_UNUSABLE',
    `${path} is damaged. Restore it from a backup, or move it away to start with an empty one: mv "${path}" "${path}.damaged"`,
    { cause },
  )
}

/** The empty schema, of the first database in memory. */
let image: Uint8Array | undefined

/**
 * Creates the schema. Only databases after the first one in a process are copies, which takes a tenth of the time:
 * SQLite limits a copy to 1 GiB, and a server that is not inside a test opens one database.
 */
function createInMemory(db: SqliteDatabase, path: string): void {
  if (image === undefined || db.deserialize === undefined) {
    migrate(db, path)
    image = db.serialize?.()
    return
  }
  db.deserialize(image)
  // Each copy starts with SQLite's own size of the cache.
  db.exec(`pragma cache_size = ${-CACHE_KIB}`)
}

function migrate(db: SqliteDatabase, path: string): void {
  const version = pragma(db, 'user_version') as number
  if (version === migrations.length) return
  db.exec('begin immediate')
  try {
    for (const { sql } of migrations.slice(version)) db.exec(sql)
    db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${migrations.length}; commit`)
  } catch (cause) {
    rollBack(db)
    throw new StoreUnusable(
      'STORE_UNUSABLE',
      `The schema of ${path} could not be brought up to date; it is unchanged.`,
      { cause },
    )
  }
}

function explain(error: unknown, path: string): unknown {
  if (error instanceof StoreUnusable) return error
  switch (sqliteProblemOf(error)) {
    case 'busy':
      return new StoreUnusable('DATA_FOLDER_IN_USE', `${path} is in use by another server.`, { cause: error })
    case 'damaged':
    case 'not_a_database':
      return damaged(path, error)
    case null:
      return error
    default:
      return new StoreUnusable('STORE_UNUSABLE', `${path} cannot be opened: ${(error as Error).message}.`, {
        cause: error,
      })
  }
}
