import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { draftOf, removeDrafts } from '../../files/replace-file.js'

class FileUnwritable extends Error {
  override readonly name = 'FileUnwritable'
  readonly code = 'FILE_UNWRITABLE'
}

/**
 * Writes a file that its owner alone reads, and that nobody sees under its name before all of it is on the disk. What is
 * there under the name stays until then.
 * @throws an error with code FILE_UNWRITABLE, or what the pieces throw; nothing of the file is left then
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
    throw explained(error, path)
  })
  try {
    try {
      // It goes on after a short write, by which a disk that becomes full responds.
      for await (const piece of pieces) await file.writeFile(piece)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw explained(error as NodeJS.ErrnoException, path)
  }
  await syncFolder(dirname(path))
}

/** Drafts of killed exports hold every row of the store. */
function removeAbandonedDrafts(path: string): void {
  try {
    removeDrafts(path, 'abandoned')
  } catch {
    // The folder may not be listed, or the draft belongs to another user.
  }
}

function explained(error: NodeJS.ErrnoException, path: string): Error {
  if (error.syscall === undefined) return error
  const how = error.code === 'ENOSPC' ? 'Free some space' : 'Check the folder and its permissions'
  return new FileUnwritable(
    `${path} cannot be written (${error.code}); nothing of it was left. ${how}, or name another file.`,
  )
}

/** So that the name outlives a power failure too; not every system lets a folder be opened. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
