import { lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { DAY_MS } from '../../contract/values/duration.js'
import { isAlive } from '../../files/process-alive.js'
import { DRAFT_OF_HOST, draftOf } from '../../files/replace-file.js'
import { syncFolder } from '../../files/sync-folder.js'

class FileUnwritable extends Error {
  override readonly name = 'FileUnwritable'
  readonly code = 'FILE_UNWRITABLE'
}

/**
 * Writes a file atomically, readable by its owner only: replaces an existing file once the new file is on disk.
 * @throws an error with code FILE_UNWRITABLE, or the error of `pieces`; leaves no partial file
 */
export async function writeExportFile(named: string, pieces: AsyncIterable<string>): Promise<void> {
  const path = await realpath(named).catch(() => named)
  const before = await stat(path).catch(() => undefined)
  if (before !== undefined && !before.isFile()) {
    throw new FileUnwritable(`${named} is no file. Name one, or write to standard output with --out -.`)
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
  // No such folder, one that cannot be listed, or a file of another user: opening the new draft reports what matters.
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
  return new FileUnwritable(
    `${path} cannot be written (${error.code}); nothing of it was left. ${how}, or name another file.`,
  )
}
