import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { isAlive } from '../../files/process-alive.js'

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
    await removeAbandonedDrafts(path)
    const draft = `${path}${draftMark()}${process.pid}-${randomBytes(4).toString('hex')}`
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

  /** Removes what was not finished. */
  async discard(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    await this.#file.close().catch(() => {})
    await rm(this.#draft, { force: true })
  }
}

/** The host name is part of the draft's name: processes of another host that shares the folder are not visible here. */
const draftMark = () => `.tmp-${hostname()}-`

/** Removes drafts of killed exports, which hold every row of the store. The draft of a running process stays. */
async function removeAbandonedDrafts(path: string): Promise<void> {
  const beginning = `${basename(path)}${draftMark()}`
  const names = await readdir(dirname(path)).catch(() => [])
  for (const name of names) {
    const pid = name.startsWith(beginning) ? /^(\d+)-[0-9a-f]{8}$/.exec(name.slice(beginning.length))?.[1] : undefined
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dirname(path), name), { force: true }).catch(() => {})
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
