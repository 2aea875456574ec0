import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { draftOf, removeDrafts } from '../../files/replace-file.js'

class FileUnwritable extends Error {
  override readonly name = 'FileUnwritable'
  readonly code = 'FILE_UNWRITABLE'
}

/** A file that nobody sees under its name before all of it is on the disk; its owner alone reads it. */
export class ExportFile {
  readonly #file: FileHandle
  readonly #draft: string
  readonly #path: string
  #open = true

  private constructor(file: FileHandle, draft: string, path: string) {
    this.#file = file
    this.#draft = draft
    this.#path = path
  }

  /** What is there under the name stays until the end. @throws an error with code FILE_UNWRITABLE */
  static async create(named: string): Promise<ExportFile> {
    const path = await realpath(named).catch(() => named)
    const before = await stat(path).catch(() => undefined)
    if (before !== undefined && !before.isFile()) {
      throw new FileUnwritable(`${named} is no file. Name one, or write to standard output with --out -.`)
    }
    removeAbandonedDrafts(path)
    const draft = draftOf(path)
    return new ExportFile(await of(path, open(draft, 'wx', 0o600)), draft, path)
  }

  write(text: string): Promise<void> {
    // It goes on after a short write, which is how a disk that becomes full answers.
    return of(this.#path, this.#file.writeFile(text))
  }

  async finish(): Promise<void> {
    await of(this.#path, this.#file.sync())
    await of(this.#path, this.#file.close())
    await of(this.#path, rename(this.#draft, this.#path))
    this.#open = false
    await syncFolder(dirname(this.#path))
  }

  async discard(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#file.close().catch(() => {})
    await rm(this.#draft, { force: true })
  }
}

/** Drafts of killed exports hold every row of the store. */
function removeAbandonedDrafts(path: string): void {
  try {
    removeDrafts(path, 'abandoned')
  } catch {
    // The folder may not be listed, or the draft belongs to another user.
  }
}

async function of<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const how = code === 'ENOSPC' ? 'Free some space' : 'Check the folder and its permissions'
    throw new FileUnwritable(
      `${path} cannot be written (${code}); nothing of it was left. ${how}, or name another file.`,
    )
  }
}

/** So that the name outlives a power failure too; not every system lets a folder be opened. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
