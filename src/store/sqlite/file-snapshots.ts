import { createHash } from 'node:crypto'
// Node loads `promises` when it is first used: a start without such a snapshot does not read it.
import { closeSync, constants, createReadStream, promises as fs, openSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { parseLine, withSum } from '../../files/summed-lines.js'
import { makeFolder, syncFolder } from '../../files/sync-folder.js'
import { byAge, SnapshotsDamaged, type StoredSnapshot } from '../snapshots.js'
import { StoreUnavailable } from '../store.js'
import type { SqliteDatabase } from './engine.js'
import { migrations } from './migrations.js'
import { copyTables, replaceTables, withoutForeignKeys } from './table-copies.js'

/** Last line of a snapshot file; it ends with a checksum of the line. */
interface Seal extends StoredSnapshot {
  readonly schema: number
  /** Length and SHA-256 of the database before the line. */
  readonly bytes: number
  readonly sha256: string
}

/** Runs `work` between operations of the store. */
export type RunAlone = <T>(work: () => T, writesStore?: boolean) => Promise<T>

/** Page size of the copies in bytes; the rest of the file is the seal. */
const PAGE_BYTES = 4_096

/**
 * Snapshots in files of the folder `voucherctl.db.snapshots`, one per snapshot, with its name in hexadecimal. A file is
 * a database with copies of the tables, followed by a seal. It gets its name when it is complete and on disk, and never
 * changes afterwards. A restore compares every byte with the seal first: SQLite does not notice changed values.
 */
export class FileSnapshots {
  readonly #db: SqliteDatabase
  readonly #folder: string
  readonly #alone: RunAlone
  #last: Promise<unknown> = Promise.resolve()

  /** @param path of the store's database */
  constructor(db: SqliteDatabase, path: string, alone: RunAlone) {
    this.#db = db
    this.#folder = `${path}.snapshots`
    this.#alone = alone
  }

  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot> {
    // The next save overwrites the draft of a killed server.
    const draft = join(this.#folder, 'draft')
    return this.#queue(async () => {
      makeFolder(this.#folder)
      await fs.rm(draft, { force: true })
      try {
        const record = { ...snapshot, vouchers: await this.#alone(() => this.#copyTo(draft)) }
        await seal(draft, { ...record, schema: migrations.length })
        await fs.rename(draft, this.#fileOf(record.name))
        syncFolder(this.#folder)
        return record
      } catch (error) {
        await fs.rm(draft, { force: true })
        throw error
      }
    })
  }

  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'> {
    const file = this.#fileOf(name)
    return this.#queue(async () => {
      const found = await this.#read(name)
      if (found === undefined) return 'missing'
      if (found.schema !== migrations.length) return 'outdated'
      if (found.sha256 !== (await sha256Of(file, found.bytes))) throw new SnapshotsDamaged(file)
      await this.#alone(() => this.#replaceFrom(file), true)
      return recordOf(found)
    })
  }

  list(): Promise<StoredSnapshot[]> {
    return this.#queue(async () => {
      const files = await fs.readdir(this.#folder).catch(unlessMissing([]))
      const names = files.filter((it) => /^([0-9a-f]{2})+\.db$/.test(it)).map(nameOf)
      const found = await Promise.all(names.map((it) => this.#read(it)))
      return found.flatMap((it) => (it === undefined ? [] : recordOf(it))).sort(byAge)
    })
  }

  remove(name: string): Promise<StoredSnapshot | undefined> {
    return this.#queue(async () => {
      const found = await this.#read(name)
      if (found === undefined) return undefined
      await fs.rm(this.#fileOf(name))
      syncFolder(this.#folder)
      // Remove the folder with its last file.
      await fs.rmdir(this.#folder).catch(() => {})
      return recordOf(found)
    })
  }

  /** Resolves when no operation runs. */
  close(): Promise<unknown> {
    return this.#last
  }

  /** Runs operations one after the other. */
  #queue<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work).catch((error: unknown) => {
      // The path may be a file of an earlier version, which this server never writes.
      if (['ENOTDIR', 'EEXIST'].includes(codeOf(error))) throw new SnapshotsDamaged(this.#folder, { cause: error })
      if (codeOf(error, '') === '') throw error
      throw new StoreUnavailable('the file of a snapshot cannot be read or written', { cause: error })
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  #fileOf(name: string): string {
    return join(this.#folder, `${Buffer.from(name).toString('hex')}.db`)
  }

  /** Reads the seal of a snapshot; undefined without a file. */
  async #read(name: string): Promise<Seal | undefined> {
    // Never waits for the writer of a named pipe, which has no seal.
    const file = await fs
      .open(this.#fileOf(name), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
      .catch(unlessMissing(undefined))
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      const line = Buffer.alloc(size % PAGE_BYTES)
      const bytes = size - line.length
      await file.read(line, 0, line.length, bytes)
      const found = line.at(-1) === LF ? (parseLine(line.subarray(0, -1)) as Seal | undefined) : undefined
      // Another name means that somebody has renamed the file.
      if (found?.name !== name || found.bytes !== bytes) throw new SnapshotsDamaged(this.#fileOf(name))
      return found
    } finally {
      await file.close()
    }
  }

  /** Copies the state to a file; returns the number of vouchers. */
  #copyTo(file: string): number {
    // Create the file first: SQLite would use the default mode of the process.
    closeSync(openSync(file, 'wx', 0o600))
    return this.#attached(file, () => {
      // A draft needs neither a journal nor a sync, because it is deleted after a failure.
      this.#db.exec(`pragma copy.page_size = ${PAGE_BYTES}; pragma copy.journal_mode = memory`)
      this.#db.exec('pragma copy.synchronous = off')
      return withoutForeignKeys(this.#db, () => copyTables(this.#db))
    })
  }

  #replaceFrom(file: string): void {
    this.#attached(file, () => withoutForeignKeys(this.#db, () => replaceTables(this.#db)))
  }

  /** Runs `work` with the file attached as `copy`. */
  #attached<T>(file: string, work: () => T): T {
    this.#db.exec(`attach '${file.replaceAll("'", "''")}' as copy; pragma copy.locking_mode = normal`)
    try {
      return work()
    } finally {
      this.#db.exec('detach copy')
    }
  }
}

const LF = 10

const nameOf = (file: string) => Buffer.from(file.slice(0, -'.db'.length), 'hex').toString()

/** Adds the seal to a draft and writes it to the disk. */
async function seal(draft: string, record: Omit<Seal, 'bytes' | 'sha256'>): Promise<void> {
  const file = await fs.open(draft, 'a')
  try {
    const { size: bytes } = await file.stat()
    await file.appendFile(withSum({ ...record, bytes, sha256: await sha256Of(draft, bytes) }))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Hashes the start of a file in parts of about 1 ms, so that calls run in between. */
async function sha256Of(path: string, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path, { end: bytes - 1, highWaterMark: 1024 * 1024 })) hash.update(part)
  return hash.digest('hex')
}

const unlessMissing =
  <T>(value: T) =>
  (error: unknown): T => {
    if (codeOf(error) === 'ENOENT') return value
    throw error
  }

const recordOf = ({ name, saved_at, clock, vouchers }: Seal): StoredSnapshot => ({ name, saved_at, clock, vouchers })
