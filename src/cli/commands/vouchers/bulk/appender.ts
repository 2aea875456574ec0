import { type FileHandle, open } from 'node:fs/promises'

/** Appends to a file with mode 0600 from an offset. */
export class Appender {
  readonly #file: FileHandle
  #end: number

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
  }

  /** Opens a file of an earlier run, or creates one. It truncates unfinished bytes after `end`. */
  static async resume(path: string, end: number): Promise<Appender> {
    const file = await open(path, 'r+').catch(() => open(path, 'wx+', 0o600))
    await file.chmod(0o600)
    await file.truncate(end)
    return new Appender(file, end)
  }

  /** Size of the file in bytes. */
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

  /** Resolves when everything is on disk. */
  async sync(): Promise<void> {
    await this.#file.datasync()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
