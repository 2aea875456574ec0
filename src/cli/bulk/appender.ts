import { type FileHandle, open, rm } from 'node:fs/promises'
import { refuseForeign } from '../../files/replace-file.js'

/** Appends text to a private file (mode 0600). */
export class Appender {
  readonly path: string
  readonly #file: FileHandle
  #end: number

  private constructor(path: string, file: FileHandle, end: number) {
    this.path = path
    this.#file = file
    this.#end = end
  }

  /**
   * Opens the file of an earlier run, or creates it. It truncates the file at `end`, after its last complete line, and
   * writes the first line into an empty file.
   * @throws errors of the file system and of `refuseForeign`
   */
  static async open(path: string, firstLine: string, end = 0): Promise<Appender> {
    let isNew = false
    const file = await open(path, 'r+').catch(() => {
      isNew = true
      return open(path, 'wx+', 0o600)
    })
    try {
      refuseForeign(await file.stat())
      // First, because it fails for a device, whose mode must stay.
      await file.truncate(end)
      await file.chmod(0o600)
      const appender = new Appender(path, file, end)
      if (end === 0) await appender.append(firstLine)
      return appender
    } catch (error) {
      await file.close()
      // A full disk would leave an empty file, which a repeated command refuses.
      if (isNew) await rm(path, { force: true })
      throw error
    }
  }

  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#end)
      at += bytesWritten
      this.#end += bytesWritten
    }
  }

  /** Resolves when all appended text is on disk. */
  async sync(): Promise<void> {
    await this.#file.datasync()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
