import { byAge, type StoredSnapshot } from '../snapshots.js'
import { stateTables } from '../tables.js'
import type { SqliteDatabase } from './engine.js'
import type { RunAlone } from './file-snapshots.js'
import { copyTables, emptyTables, replaceTables, withoutForeignKeys } from './table-copies.js'

/** Snapshots of a store in memory. All are in one attached database, because SQLite attaches at most ten. */
export class MemorySnapshots {
  readonly #db: SqliteDatabase
  readonly #alone: RunAlone
  readonly #saved = new Map<string, StoredSnapshot>()

  constructor(db: SqliteDatabase, alone: RunAlone) {
    this.#db = db
    this.#alone = alone
    db.exec("attach ':memory:' as copy")
  }

  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot> {
    const { name } = snapshot
    return this.#alone(() => {
      const vouchers = withoutForeignKeys(this.#db, () => {
        this.#drop(name)
        return copyTables(this.#db, prefixOf(name))
      })
      const record = { ...snapshot, vouchers }
      this.#saved.set(name, record)
      return record
    })
  }

  restore(name: string): Promise<StoredSnapshot | 'missing'> {
    return this.#alone(() => {
      const saved = this.#saved.get(name)
      if (saved === undefined) return 'missing'
      // In a separate transaction: otherwise SQLite keeps the deleted rows for a rollback, which takes 50 % longer. The
      // other transaction fails only if memory is exhausted.
      withoutForeignKeys(this.#db, () => emptyTables(this.#db))
      withoutForeignKeys(this.#db, () => replaceTables(this.#db, prefixOf(name)))
      return saved
    }, true)
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#alone(() => [...this.#saved.values()].sort(byAge))
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#alone(() => {
      const saved = this.#saved.get(name)
      withoutForeignKeys(this.#db, () => this.#drop(name))
      this.#saved.delete(name)
      return saved
    })
  }

  /** The copies end with the connection, so there is nothing to close. */
  async close(): Promise<void> {}

  #drop(name: string): void {
    for (const table of stateTables) this.#db.exec(`drop table if exists copy.${prefixOf(name)}${table}`)
  }
}

/** Hexadecimal, because table names are case-insensitive. */
const prefixOf = (name: string) => `s${Buffer.from(name).toString('hex')}_`
