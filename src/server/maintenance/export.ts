import { randomBytes } from 'node:crypto'
import { lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { seal } from '../../domain/sealing.js'
import { formatInstant } from '../../domain/time.js'
import { isAlive } from '../../files/process-alive.js'
import { DRAFT_OF_HOST, draftOf } from '../../files/replace-file.js'
import { syncFolder } from '../../files/sync-folder.js'
import { exportText, filledTables, keyChecksOf } from '../../store/move/export.js'
import { type Checksums, type KeyCheck, totalOf } from '../../store/move/format.js'
import type { MoveSource } from '../../store/move/session.js'
import { headerTables } from '../../store/tables.js'
import { DAY_MS } from '../../values/duration.js'
import { readSecureKeys } from '../transport/keys.js'
import { OWNER } from '../transport/shared-keys.js'
import {
  explainDatabaseError,
  type MovePlace,
  NotMoved,
  openSource,
  type Progress,
  requireKeys,
  transportKeyFile,
} from './move-place.js'

interface ExportOptions {
  /** Version of the package. */
  readonly version: string
  /** A file to write atomically, or a writer. */
  readonly to: { readonly path: string } | { write(text: string): Promise<void> }
  readonly signal: AbortSignal
  readonly onProgress?: Progress
}

export type ExportReport = Awaited<ReturnType<typeof exportStore>>

const noStore = (place: string) =>
  new NotMoved('STORE_NOT_FOUND', `There is no store in ${place}: no server has been started on it.`)

/**
 * Exports a store (rules/server.md#export-and-import): a snapshot of PostgreSQL while servers run, or SQLite while no
 * server runs.
 * @throws an error with a `code`: STORE_NOT_FOUND, DATA_FOLDER_IN_USE, STORE_UNUSABLE, DATABASE_UNREACHABLE,
 * SQLITE_MISSING, KEYS_UNUSABLE, FILE_UNWRITABLE, ABORTED
 */
export async function exportStore(place: MovePlace, options: ExportOptions) {
  const source = await openSource(place)
  if (source === undefined) throw noStore(place.dataDir)
  try {
    const schema = await source.schema()
    if (schema === 0) throw noStore(source.name)
    const keys = await keyChecksOf(source)
    const exportedAt = formatInstant(Date.now())
    const transportKeys = await transportKeysOf(source, place, keys)
    const header = { version: options.version, schema, exported_at: exportedAt, keys, transport_keys: transportKeys }
    const { rows, total_sha256 } = await copy(source, header, options)
    return { store: source.name, schema, exported_at: exportedAt, total: totalOf(rows), rows, total_sha256 }
  } catch (error) {
    throw explainDatabaseError(error, source.name, 'Nothing was exported.')
  } finally {
    await source.close()
  }
}

/** The transport keys, encrypted. PostgreSQL stores them encrypted; with SQLite the export encrypts its key file. */
async function transportKeysOf(
  source: MoveSource,
  place: MovePlace,
  keys: readonly KeyCheck[],
): Promise<string | null> {
  if (source.dialect === 'postgres') {
    const [row] = await source.all(`select sealed from ${headerTables[0]}`)
    return row === undefined ? null : String(row.sealed)
  }
  const text = readSecureKeys(transportKeyFile(place))
  if (text === null) return null
  const ring = requireKeys(place, keys, source.name)
  return seal(ring, OWNER, text, randomBytes)
}

async function copy(
  source: MoveSource,
  header: Parameters<typeof exportText>[1],
  { to, signal, onProgress }: ExportOptions,
): Promise<Checksums> {
  const filled = await filledTables(source)
  const total = filled.reduce((sum, it) => sum + it.rows, 0)
  let sums: Checksums | undefined
  const pieces = async function* (): AsyncGenerator<string> {
    const text = exportText(source, header, filled)
    for (let done = 0; ; ) {
      if (signal.aborted) throw new NotMoved('ABORTED', 'Interrupted before the export was whole.')
      const next = await text.next()
      if (next.done) {
        sums = next.value
        return
      }
      yield next.value.text
      done += next.value.rows
      onProgress?.(done, total)
    }
  }
  if ('path' in to) await writeExportFile(to.path, pieces())
  else for await (const piece of pieces()) await to.write(piece)
  return sums as Checksums
}

/**
 * Writes a file atomically, readable by its owner only: replaces an existing file once the new file is on disk.
 * @throws an error with code FILE_UNWRITABLE, or the error of `pieces`; leaves no partial file
 */
async function writeExportFile(named: string, pieces: AsyncIterable<string>): Promise<void> {
  const path = await realpath(named).catch(() => named)
  const before = await stat(path).catch(() => undefined)
  if (before !== undefined && !before.isFile()) {
    throw new NotMoved('FILE_UNWRITABLE', `${named} is no file. Name one, or write to standard output with --out -.`)
  }
  await removeAbandonedDrafts(dirname(path))
  const draft = draftOf(path)
  const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw explainFileError(error, path)
  })
  try {
    try {
      // writeFile continues after a short write, the first sign of a full disk.
      for await (const piece of pieces) await file.writeFile(piece)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw explainFileError(error as NodeJS.ErrnoException, path)
  }
  syncFolder(dirname(path))
}

/**
 * Removes temporary files of killed exports in this folder, which contain rows of the store. The process of a draft has
 * ended, or it has written nothing for a day: a new process may have its number, or it ran on another host.
 */
async function removeAbandonedDrafts(folder: string): Promise<void> {
  // Ignore a missing, unlistable or foreign folder: opening the new draft reports the relevant error.
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const pid = /^\.tmp-.+-(\d+)-[0-9a-f]{8}$/.exec(name.slice(name.lastIndexOf('.tmp-')))?.[1]
    if (pid === undefined) continue
    const path = join(folder, name)
    const found = await lstat(path).catch(() => undefined)
    if (!found?.isFile() || found.uid !== (process.geteuid?.() ?? found.uid)) continue
    const hasEnded = name.includes(`${DRAFT_OF_HOST}${pid}-`) && !isAlive(Number(pid))
    if (hasEnded || found.mtimeMs < Date.now() - DAY_MS) await rm(path, { force: true }).catch(() => {})
  }
}

function explainFileError(error: NodeJS.ErrnoException, path: string): Error {
  if (error.syscall === undefined) return error
  const how = error.code === 'ENOSPC' ? 'Free some space' : 'Check the folder and its permissions'
  return new NotMoved(
    'FILE_UNWRITABLE',
    `${path} cannot be written (${error.code}); nothing of it was left. ${how}, or name another file.`,
  )
}
