import { unseal } from '../../domain/sealing.js'
import { replaceFile } from '../../files/replace-file.js'
import { SCHEMA_VERSION } from '../../store/migrations/index.js'
import { type Checksums, ExportUnusable, totalOf } from '../../store/move/format.js'
import { importRows, requireEmpty } from '../../store/move/import.js'
import { type ParsedExport, readExport } from '../../store/move/read.js'
import type { MoveSource, MoveTarget } from '../../store/move/session.js'
import { KeysUnusable } from '../keys.js'
import { recordStore } from '../served-store.js'
import { readSecureKeys } from '../transport/keys.js'
import { OWNER } from '../transport/shared-keys.js'
import type { ExportReport } from './export.js'
import {
  databaseFile,
  explainDatabaseError,
  type MovePlace,
  NotMoved,
  openSource,
  openTarget,
  type Progress,
  requireKeys,
  transportKeyFile,
} from './move-place.js'

type Chunks = AsyncIterable<Uint8Array | string>

interface ImportOptions {
  /** Name of the file in messages. */
  readonly name: string
  readonly signal: AbortSignal
  readonly onProgress?: Progress
}

/** `schema` is the schema version of the export; the import migrates the store to the version of this program. */
export type ImportReport = Omit<ExportReport, 'store'> & {
  /** Null after a dry run. */
  readonly store: string | null
  /** What a dry run has checked, by name. */
  readonly checks?: Readonly<Record<string, string>>
}

/** Checks what an import needs, in its order, and changes nothing. @throws the errors of `importStore` */
export function checkImport(place: MovePlace, chunks: Chunks, options: ImportOptions): Promise<ImportReport> {
  return withFileName(options, async () => {
    const read = await readExport(untilAborted(chunks, options.signal))
    const transport = openTransportKeys(read, place, options.name)
    const source = await openSource(place)
    if (source !== undefined) await using(source, () => requireEmpty(source))
    if (place.databaseUrl !== undefined) {
      // After the check, because it locks the tables. PostgreSQL refuses the schema if a permission is missing.
      const target = await openTarget(place)
      await using(target, () => target.createSchema(read.header.schema))
    }
    const onRows = progressCounter(read, options)
    let next = await read.rows.next()
    for (; !next.done; next = await read.rows.next()) onRows(next.value.rows.length)
    if (transport !== null && place.databaseUrl === undefined) hasKeys(transportKeyFile(place), transport.text)
    const checks = {
      target: `${source?.name ?? databaseFile(place)}, empty`,
      schema: `${read.header.schema}; this version has ${SCHEMA_VERSION}`,
      keys: read.header.keys.map((it) => `${it.key_id}, with equal check value`).join('; ') || 'none needed',
      transport_keys: transport === null ? 'none' : 'readable',
    }
    return { ...reportOf(read, null, next.value), checks }
  })
}

/** Closes the session after the work, which rolls back what was not committed, and explains an error. */
async function using<T>(session: MoveSource, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw explainDatabaseError(error, session.name, 'Nothing was imported.')
  } finally {
    await session.close()
  }
}

/**
 * Imports an export into an empty store, in one transaction.
 * @throws an error with a `code`: EXPORT_UNUSABLE, KEYS_UNUSABLE, STORE_NOT_EMPTY, DATA_FOLDER_IN_USE, STORE_UNUSABLE,
 * DATABASE_UNREACHABLE, SQLITE_MISSING, ABORTED
 */
export function importStore(place: MovePlace, chunks: Chunks, options: ImportOptions): Promise<ImportReport> {
  return withFileName(options, async () => {
    const read = await readExport(untilAborted(chunks, options.signal))
    const transportKeys = openTransportKeys(read, place, options.name)
    const target = await openTarget(place).catch((error: unknown) => {
      throw explainDatabaseError(error, databaseFile(place), 'Nothing was imported.')
    })
    return using(target, async () => {
      await requireEmpty(target)
      const sums = await importRows(target, read, progressCounter(read, options))
      await commit(target, place, transportKeys)
      if (place.databaseUrl !== undefined) recordStore(place.dataDir, target.name)
      return reportOf(read, target.name, sums)
    })
  })
}

/** Adds the name of the export file to the errors of `work`. */
async function withFileName<T>({ name }: ImportOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof ExportUnusable ? new ExportUnusable(`${name} cannot be imported: ${error.message}.`) : error
  }
}

interface TransportKeys {
  readonly sealed: string
  readonly text: string
}

/** Decrypts the transport keys of an export after checking the credential keys. @throws KeysUnusable */
function openTransportKeys({ header }: ParsedExport, place: MovePlace, name: string): TransportKeys | null {
  const { keys, transport_keys: sealed } = header
  if (keys.length === 0 && sealed === null) return null
  const ring = requireKeys(place, keys, name)
  try {
    return sealed === null ? null : { sealed, text: unseal(ring, OWNER, sealed) }
  } catch {
    throw new ExportUnusable('the keys of the encrypted transport in its line 1 do not open')
  }
}

/** Writes the key file before it commits the rows: a key file without rows is unused, so a retry can import again. */
async function commit(target: MoveTarget, place: MovePlace, keys: TransportKeys | null): Promise<void> {
  const path = transportKeyFile(place)
  const writesFile = keys !== null && target.insertTransportKeys === null && !hasKeys(path, keys.text)
  if (keys !== null) await target.insertTransportKeys?.(keys.sealed)
  if (writesFile) replaceFile(path, keys.text, { follow: false })
  try {
    await target.commit()
  } catch (error) {
    const how = 'Whether it was imported is not known: run the same import again, which is refused where it was.'
    throw explainDatabaseError(error, target.name, how)
  }
}

/** True if the key file exists with this text. @throws KeysUnusable if it has other keys */
function hasKeys(path: string, text: string): boolean {
  const found = readSecureKeys(path)
  if (found === null || found === text) return found !== null
  throw new KeysUnusable(
    `${path} has other keys of the encrypted transport than the export, which clients may have pinned. Move it away to import the keys of the export.`,
  )
}

function progressCounter({ header }: ParsedExport, { signal, onProgress }: ImportOptions): (rows: number) => void {
  const total = totalOf(header.rows)
  let done = 0
  return (rows) => {
    if (signal.aborted) throw interrupted()
    done += rows
    onProgress?.(done, total)
  }
}

function reportOf({ header }: ParsedExport, store: string | null, { rows, total_sha256 }: Checksums): ImportReport {
  const { schema, exported_at } = header
  return { store, schema, exported_at, total: totalOf(rows), rows, total_sha256 }
}

const interrupted = () => new NotMoved('ABORTED', 'Interrupted: nothing was imported.')

/** Yields the chunks until `signal` aborts; does not wait for the next chunk of a pipe then. */
async function* untilAborted(chunks: Chunks, signal: AbortSignal): AsyncGenerator<Uint8Array | string> {
  const iterator = chunks[Symbol.asyncIterator]()
  for (;;) {
    const next = await new Promise<IteratorResult<Uint8Array | string>>((resolve, reject) => {
      const abort = () => reject(interrupted())
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      const unreadable = (error: unknown) =>
        reject(new ExportUnusable(`it cannot be read to its end (${(error as NodeJS.ErrnoException).code})`))
      const ended = () => signal.removeEventListener('abort', abort)
      return iterator.next().then(resolve, unreadable).finally(ended)
    })
    if (next.done) return
    yield next.value
  }
}
