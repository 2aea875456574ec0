import { byAge, releaseLeases, type StoredSnapshot } from '../snapshots.js'
import { inverseOf } from './changeset.js'
import type { SqliteDatabase, SqliteSession } from './engine.js'
import type { RunAlone } from './file-snapshots.js'
import { triggersOf } from './triggers.js'

interface Saved {
  readonly record: StoredSnapshot
  /** Records which rows changed since, with their old values. */
  session: SqliteSession
}

/** Snapshots of a store in memory. A save copies nothing, and a restore undoes what changed since. */
export class MemorySnapshots {
  readonly #db: SqliteDatabase
  readonly #alone: RunAlone
  readonly #discardStatements: () => void
  readonly #saved = new Map<string, Saved>()

  constructor(db: SqliteDatabase, alone: RunAlone, discardStatements: () => void) {
    this.#db = db
    this.#alone = alone
    this.#discardStatements = discardStatements
  }

  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot> {
    return this.#alone(() => {
      // A deletion of all rows that SQLite compiled earlier would not be recorded.
      this.#discardStatements()
      this.#remove(snapshot.name)
      const { n: vouchers } = this.#db.prepare('select count(*) as n from vouchers').get() as { n: number }
      const record = { ...snapshot, vouchers }
      this.#saved.set(snapshot.name, { record, session: this.#db.createSession() })
      return record
    })
  }

  restore(name: string): Promise<StoredSnapshot | 'missing'> {
    return this.#alone(() => {
      const saved = this.#saved.get(name)
      if (saved === undefined) return 'missing'
      const changes = saved.session.changeset()
      const { off, on } = triggersOf(this.#db)
      this.#db.exec(['begin immediate', ...off].join(';'))
      // Undoing is itself recorded by the sessions of the other snapshots, older and newer.
      if (changes.length > 0 && !this.#db.applyChangeset(inverseOf(changes)))
        throw new Error(`cannot return to ${name}`)
      this.#db.exec([...on, ...releaseLeases, 'commit'].join(';'))
      saved.session.close()
      saved.session = this.#db.createSession()
      return saved.record
    }, true)
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#alone(() => [...this.#saved.values()].map((it) => it.record).sort(byAge))
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#alone(() => this.#remove(name))
  }

  async close(): Promise<void> {
    for (const name of this.#saved.keys()) this.#remove(name)
  }

  #remove(name: string): StoredSnapshot | undefined {
    const saved = this.#saved.get(name)
    this.#saved.delete(name)
    saved?.session.close()
    return saved?.record
  }
}
