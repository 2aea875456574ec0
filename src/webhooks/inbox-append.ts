import { close, fdatasync, fstatSync, ftruncateSync, write } from 'node:fs'

/** What is written reaches the disk itself this late. */
const SYNC_MS = 1_000

interface Waiting {
  readonly line: string
  written(): void
  failed(error: unknown): void
}

/** Appends lines to a file that nobody else writes: those that come while one write runs go with the next. */
export class AppendedLines {
  readonly #file: number
  readonly #headBytes: number
  #queue: Waiting[] = []
  #writing: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  /** End of the last whole line. */
  #end: number

  /** @param file holds its head and nothing else */
  constructor(file: number) {
    this.#file = file
    this.#headBytes = this.#end = fstatSync(file).size
  }

  /** Bytes of the file. */
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
    // To the end of this turn: lines of requests that arrived together are written together.
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

  /** What a failed write has left is no line: nobody was told that it is there. */
  #cut(): void {
    try {
      ftruncateSync(this.#file, this.#end)
    } catch {
      // The next write begins at the same place, and a reader passes over a last line without an end.
    }
  }

  #sync(): void {
    this.#syncTimer = undefined
    fdatasync(this.#file, () => {})
  }

  /** When everything is on the disk, or has failed to get there. */
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
