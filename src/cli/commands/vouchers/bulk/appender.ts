import { type FileHandle, open } from 'node:fs/promises'

/** A file that is appended to from a place on, which its owner alone may read. */
export class Appender {
  readonly #file: FileHandle
  #end: number

  private constructor(file: FileHandle, end: number) {
    this.#file = file
    this.#end = end
  }

  /** A file of an earlier run, or a new one. What lies beyond `end` was not finished, and is cut off. */
  static async resume(path: string, end: number): Promise<Appender> {
    const file = await open(path, 'r+').catch(() => open(path, 'wx+', 0o600))
    await file.chmod(0o600)
    await file.truncate(end)
    return new Appender(file, end)
  }

  /** Bytes so far. */
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

  /** On disk when this is over. */
  async sync(): Promise<void> {
    await this.#file.datasync()
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
