import { deserialize, serialize } from 'node:v8'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { byAge, type StoredSnapshot } from '../snapshots.js'
import { stateTables } from '../tables.js'
import type { SqliteDatabase, SqliteStatement } from './engine.js'
import type { RunAlone } from './file-snapshots.js'
import {
  copyTables,
  emptyTables,
  insertRows,
  replaceTables,
  type TableRows,
  withoutForeignKeys,
} from './table-copies.js'

/** Each copied table makes later copies slower, so states with up to this many rows are kept outside of SQLite. */
const SMALL_STATE_ROWS = 500

/** Snapshots of a store in memory. Large ones share one attached database, because SQLite attaches at most ten. */
export class MemorySnapshots {
  readonly #db: SqliteDatabase
  readonly #alone: RunAlone
  readonly #saved = new Map<string, StoredSnapshot>()
  readonly #reads: readonly SqliteStatement[]
  /** Serialized and compressed rows of small states. */
  readonly #small = new Map<string, Uint8Array>()

  constructor(db: SqliteDatabase, alone: RunAlone) {
    this.#db = db
    this.#alone = alone
    db.exec("attach ':memory:' as copy; pragma copy.page_size = 16384")
    // Once: the memory of a statement is free only after a garbage collection.
    this.#reads = stateTables.map((it) => db.prepare(`select * from main.${it} limit ?`))
  }

  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot> {
    const { name } = snapshot
    return this.#alone(() => {
      this.#remove(name)
      const small = this.#smallState()
      if (small !== null) this.#small.set(name, deflateRawSync(serialize(small), { level: 1 }))
      const vouchers = small
        ? (small.find((it) => it.table === 'vouchers')?.rows.length ?? 0)
        : withoutForeignKeys(this.#db, () => copyTables(this.#db, prefixOf(name)))
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
      const small = this.#small.get(name)
      withoutForeignKeys(this.#db, () =>
        small === undefined
          ? replaceTables(this.#db, prefixOf(name))
          : insertRows(this.#db, deserialize(inflateRawSync(small)) as TableRows[]),
      )
      return saved
    }, true)
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#alone(() => [...this.#saved.values()].sort(byAge))
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#alone(() => {
      const saved = this.#saved.get(name)
      this.#remove(name)
      return saved
    })
  }

  /** The copies end with the connection, so there is nothing to close. */
  async close(): Promise<void> {}

  /** The rows of all tables with rows; null for a large state. */
  #smallState(): TableRows[] | null {
    let left = SMALL_STATE_ROWS
    const state: TableRows[] = []
    for (const [n, table] of stateTables.entries()) {
      const rows = this.#reads[n]?.all(left + 1) as TableRows['rows']
      left -= rows.length
      if (left < 0) return null
      if (rows.length > 0) state.push({ table, rows })
    }
    return state
  }

  #remove(name: string): void {
    const isCopied = this.#saved.delete(name) && !this.#small.delete(name)
    if (!isCopied) return
    withoutForeignKeys(this.#db, () => {
      for (const table of stateTables) this.#db.exec(`drop table if exists copy.${prefixOf(name)}${table}`)
    })
  }
}

/** Hexadecimal, because table names are case-insensitive. */
const prefixOf = (name: string) => `s${Buffer.from(name).toString('hex')}_`
