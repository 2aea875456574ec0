import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { columnOverrides, stateTables } from '../move/tables.js'
import { SnapshotsDamaged, type StoredSnapshot } from '../snapshots.js'
import { StoreUnavailable } from '../store.js'
import { rollBack, type SqliteDatabase, sqliteProblemOf } from './engine.js'
import { migrations } from './migrations.js'

interface Entry extends StoredSnapshot {
  readonly id: number
  /** Schema version of the copy. */
  readonly schema: number
}

/** An index or a table of the main database. */
interface SchemaObject {
  readonly type: 'table' | 'index'
  readonly sql: string
}

/**
 * Snapshots in a file beside that of the store, attached while it is used. The copy of a table has the same columns and
 * indexes, so that SQLite copies whole records and index entries without building them again. SQLite skips this for
 * tables with foreign keys, which are therefore off meanwhile.
 *
 * All functions are synchronous; the caller has finished all transactions.
 */
export class FileSnapshots {
  readonly #db: SqliteDatabase
  readonly #file: string

  /** @param path of the store's database */
  constructor(db: SqliteDatabase, path: string) {
    this.#db = db
    this.#file = `${path}.snapshots`
  }

  save({ name, saved_at, clock }: Omit<StoredSnapshot, 'vouchers'>): StoredSnapshot {
    return this.#attached('create', () => {
      this.#drop(this.#find(name))
      const { n: vouchers } = this.#db.prepare('select count(*) as n from main.vouchers').get() as { n: number }
      const entry = [name, saved_at, clock, migrations.length, vouchers]
      const { id } = this.#db
        .prepare(
          'insert into snapshots.entries (name, saved_at, clock, schema, vouchers) values (?, ?, ?, ?, ?) returning id',
        )
        .get(...entry) as { id: number }
      // Creating the copy of a table takes longer than copying a few rows: skip empty tables.
      const tables = stateTables.filter(
        (it) => this.#db.prepare(`select 1 from main.${it} limit 1`).get() !== undefined,
      )
      for (const { type, sql } of this.#schema(tables))
        this.#db.exec(type === 'table' ? tableOf(id, sql) : indexOf(id, sql))
      for (const table of tables) {
        this.#db.exec(`insert into ${copyOf(id, table)} select * from main.${table}`)
        const overrides = Object.entries(columnOverrides[table] ?? {})
        if (overrides.length === 0) continue
        const sets = overrides.map(([column, value]) => `${column} = ${value}`).join(', ')
        this.#db.exec(`update ${copyOf(id, table)} set ${sets} where lease_until is not null`)
      }
      return { name, saved_at, clock, vouchers }
    })
  }

  restore(name: string): StoredSnapshot | 'missing' | 'outdated' {
    return this.#attached('missing', () => {
      const found = this.#find(name)
      if (found === undefined) return 'missing'
      if (found.schema !== migrations.length) return 'outdated'
      const copies = this.#copies(found)
      for (const table of stateTables) {
        this.#db.exec(`delete from main.${table}`)
        if (!copies.includes(`${prefixOf(found.id)}${table}`)) continue
        this.#db.exec(`insert into main.${table} select * from ${copyOf(found.id, table)}`)
      }
      return recordOf(found)
    })
  }

  list(): StoredSnapshot[] {
    return this.#attached([], () => {
      const sql = 'select name, saved_at, clock, vouchers from snapshots.entries order by saved_at, name'
      return (this.#db.prepare(sql).all() as Entry[]).map(recordOf)
    })
  }

  remove(name: string): StoredSnapshot | undefined {
    const removed = this.#attached(undefined, () => {
      const found = this.#find(name)
      this.#drop(found)
      return found && recordOf(found)
    })
    if (removed !== undefined) this.#free()
    return removed
  }

  close(): void {}

  /** Runs `work` in one transaction with the snapshots attached; returns `ifAbsent` while none was ever saved. */
  #attached<T, Absent>(ifAbsent: Absent | 'create', work: () => T): T | Exclude<Absent, 'create'> {
    if (!existsSync(this.#file) && ifAbsent !== 'create') return ifAbsent as Exclude<Absent, 'create'>
    const db = this.#db
    this.#attach()
    try {
      // A pragma for foreign keys has no effect inside a transaction.
      db.exec(`pragma foreign_keys = off; begin immediate; ${ENTRIES}`)
      const result = work()
      db.exec('commit')
      return result
    } catch (error) {
      rollBack(db)
      throw this.#isDamaged(error) ? new SnapshotsDamaged(this.#file, { cause: error }) : error
    } finally {
      db.exec('pragma foreign_keys = on')
      this.#detach()
    }
  }

  /** Returns the space of removed copies. */
  #free(): void {
    if (this.list().length === 0) return rmSync(this.#file)
    this.#attach()
    this.#db.exec('vacuum snapshots')
    this.#detach()
  }

  #attach(): void {
    try {
      // SQLite would create the file with the mode of the process.
      closeSync(openSync(this.#file, 'a', 0o600))
      this.#db.exec(
        `attach '${this.#file.replaceAll("'", "''")}' as snapshots;
         pragma snapshots.locking_mode = normal; pragma snapshots.synchronous = full`,
      )
    } catch (cause) {
      if (isDamage(cause)) throw new SnapshotsDamaged(this.#file, { cause })
      throw new StoreUnavailable('the file of the snapshots cannot be opened', { cause })
    }
  }

  /** False if the store itself is damaged: a save reads it, and a restore writes it. */
  #isDamaged(error: unknown): boolean {
    if (!isDamage(error)) return false
    try {
      const found = this.#db.prepare('pragma snapshots.quick_check(1)').get() as { quick_check: string }
      return found.quick_check !== 'ok'
    } catch (found) {
      return isDamage(found)
    }
  }

  #detach(): void {
    this.#db.exec('detach snapshots')
  }

  #find(name: string): Entry | undefined {
    return this.#db.prepare('select * from snapshots.entries where name = ?').get(name) as Entry | undefined
  }

  #drop(entry: Entry | undefined): void {
    if (entry === undefined) return
    for (const name of this.#copies(entry)) this.#db.exec(`drop table snapshots.${name}`)
    this.#db.prepare('delete from snapshots.entries where id = ?').run(entry.id)
  }

  /** Names of the tables with the copy. */
  #copies({ id }: Entry): string[] {
    const sql = "select name from snapshots.sqlite_master where type = 'table' and name like ? escape '!'"
    const found = this.#db.prepare(sql).all(`${prefixOf(id)}%`.replaceAll('_', '!_')) as { name: string }[]
    return found.map(({ name }) => name)
  }

  /** These tables and their indexes, tables first. */
  #schema(tables: readonly string[]): SchemaObject[] {
    const objects = this.#db
      .prepare("select type, tbl_name, sql from main.sqlite_master where sql is not null order by type = 'index'")
      .all() as (SchemaObject & { tbl_name: string })[]
    return objects.filter(({ tbl_name }) => tables.includes(tbl_name))
  }
}

const ENTRIES = `create table if not exists snapshots.entries (
  id integer primary key, name text not null unique, saved_at integer not null, clock integer not null,
  schema integer not null, vouchers integer not null) strict`

const isDamage = (error: unknown) => ['damaged', 'not_a_database'].includes(sqliteProblemOf(error) ?? '')

const prefixOf = (id: number) => `s${id}_`
const copyOf = (id: number, table: string) => `snapshots.${prefixOf(id)}${table}`

const tableOf = (id: number, sql: string) =>
  sql.replace(/^create table (\w+)/i, (_, table) => `create table ${copyOf(id, table)}`)

const indexOf = (id: number, sql: string) =>
  sql.replace(
    /^create (unique )?index (\w+) on (\w+)/i,
    (_, unique = '', index, table) => `create ${unique}index ${copyOf(id, index)} on ${prefixOf(id)}${table}`,
  )

const recordOf = ({ name, saved_at, clock, vouchers }: Entry): StoredSnapshot => ({ name, saved_at, clock, vouchers })
