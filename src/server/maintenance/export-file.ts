import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { draftOf, removeDrafts } from '../../files/replace-file.js'
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
  removeAbandonedDrafts(path)
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

/** Removes temporary files of killed exports, which contain rows of the store. */
function removeAbandonedDrafts(path: string): void {
  try {
    removeDrafts(path, 'abandoned')
  } catch {
    // The folder cannot be listed, or the file belongs to another user.
  }
}

function explainFileError(error: NodeJS.ErrnoException, path: string): Error {
  if (error.syscall === undefined) return error
  const how = error.code === 'ENOSPC' ? 'Free some space' : 'Check the folder and its permissions'
  return new FileUnwritable(
    `${path} cannot be written (${error.code}); nothing of it was left. ${how}, or name another file.`,
  )
}
