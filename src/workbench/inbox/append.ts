import { close, fdatasync, fstatSync, ftruncateSync, write } from 'node:fs'

/** Maximum delay from a write to its fdatasync. */
const SYNC_MS = 1_000

interface Waiting {
  readonly line: string
  written(): void
  failed(error: unknown): void
}

/** Appends lines to a file with a single writer; lines that arrive during a write go into the next one. */
export class AppendedLines {
  readonly #file: number
  readonly #headBytes: number
  #queue: Waiting[] = []
  #writing: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  /** Offset of the end of the last complete line. */
  #end: number

  /** @param file descriptor of a file that holds only its head */
  constructor(file: number) {
    this.#file = file
    this.#headBytes = this.#end = fstatSync(file).size
  }

  /** Size of the file. */
  get size(): number {
    return this.#end
  }

  get isUnused(): boolean {
    return this.#end === this.#headBytes
  }

  append(line: string): Promise<void> {
    return new Promise((written, failed) => {
      this.#queue.push({ line, written, failed })
      this.#writing ??= this.#write()
    })
  }

  async #write(): Promise<void> {
    // Wait for the end of this tick, so that lines of concurrent requests share a write.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0) {
      const batch = this.#queue
      this.#queue = []
      const bytes = Buffer.from(batch.map(({ line }) => line).join(''))
      try {
        await writeWhole(this.#file, bytes, this.#end)
      } catch (error) {
        this.#cut()
        for (const { failed } of batch) failed(error)
        continue
      }
      this.#end += bytes.length
      this.#syncTimer ??= setTimeout(() => this.#sync(), SYNC_MS).unref()
      for (const { written } of batch) written()
    }
    this.#writing = undefined
  }

  /** Removes what a failed write left behind; its caller got the error. */
  #cut(): void {
    try {
      ftruncateSync(this.#file, this.#end)
    } catch {
      // The next write begins at the same offset, and readers ignore an incomplete last line.
    }
  }

  #sync(): void {
    this.#syncTimer = undefined
    fdatasync(this.#file, () => {})
  }

  /** Resolves when all lines are on the disk or have failed. */
  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    clearTimeout(this.#syncTimer)
    await new Promise<void>((resolve) => fdatasync(this.#file, () => close(this.#file, () => resolve())))
  }
}

async function writeWhole(file: number, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += await new Promise<number>((resolve, reject) => {
      write(file, bytes, done, bytes.length - done, at + done, (error, written) =>
        error === null ? resolve(written) : reject(error),
      )
    })
  }
}
