import { type FileHandle, open } from 'node:fs/promises'
import { refuseForeign } from '../../files/replace-file.js'

/** Appends text to a private file (mode 0600). */
export class Appender {
  readonly #file: FileHandle
  #end: number

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
  }

  /**
   * Opens the file of an earlier run, or creates it. It truncates the file at `end`, after its last complete line.
   * @throws errors of the file system and of `refuseForeign`
   */
  static async resume(path: string, end: number): Promise<Appender> {
    const file = await open(path, 'r+').catch(() => open(path, 'wx+', 0o600))
    try {
      refuseForeign(await file.stat())
      // First, because it fails for a device, whose mode must stay.
      await file.truncate(end)
      await file.chmod(0o600)
      return new Appender(file, end)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** End offset of the file in bytes. */
  get end(): number {
    return this.#end
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
