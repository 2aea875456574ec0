import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { AppendedLines } from './append.js'
import type { InboxFile, Writer } from './files.js'
import { announceWriter, createFile, fileOf, listFiles, openNew, syncFolder, writerOf, writersIn } from './files.js'
import type { RecordedDelivery, RecordedResponse } from './lines.js'
import { encodeLine, RESPONSE_BYTES_MAX } from './lines.js'

/**
 * Limits on refused deliveries, which any web page can send: their file restarts at either limit, and the files of ended
 * processes together are limited to the same number of bytes (DECISIONS.md#refused-deliveries).
 */
const REFUSED_MAX = { deliveries: 1_000, bytes: 16 * 1024 * 1024 }

export type NewResponse = Omit<RecordedResponse, 'body_bytes'>

/**
 * Records deliveries and responses in files of its own. The operating system has a delivery when `recordDelivery`
 * resolves: a killed process loses only writes that were not acknowledged. fdatasync runs once a second, so a power
 * failure may lose the last second, which senders with a response do not send again.
 */
export class InboxWriter {
  readonly dir: string
  readonly #refusedMax: typeof REFUSED_MAX
  readonly #writer: Writer
  readonly #file: InboxFile
  readonly #lines: AppendedLines
  #refused: { readonly lines: AppendedLines; count: number } | undefined
  /** Last number given to a delivery, refused ones included. */
  #count = 0

  private constructor(dir: string, refusedMax: typeof REFUSED_MAX, writer: Writer) {
    this.dir = dir
    this.#refusedMax = refusedMax
    this.#writer = writer
    removeOldRefused(dir, refusedMax.bytes)
    const { descriptor, ...file } = createFile(dir, writer)
    this.#file = file
    this.#lines = new AppendedLines(descriptor)
    syncFolder(dir)
  }

  /**
   * Creates a missing folder with mode 0700.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  static open(dir: string, { refusedMax = REFUSED_MAX } = {}): InboxWriter {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const writer = announceWriter(dir)
    try {
      return new InboxWriter(dir, refusedMax, writer)
    } catch (error) {
      writer.release()
      throw error
    }
  }

  /** Its id once it is written; rejects with what the file system says, and then it is not in the inbox. */
  async recordDelivery(delivery: RecordedDelivery): Promise<string> {
    const id = `${this.#file.number}-${++this.#count}`
    const line = encodeLine({ kind: 'delivery', id, value: delivery })
    await (delivery.verdict === 'refused' ? this.#refusedLines(line) : this.#lines).append(line)
    return id
  }

  async recordResponse({ body, ...others }: NewResponse): Promise<void> {
    const value = { ...others, body: body.subarray(0, RESPONSE_BYTES_MAX), body_bytes: body.length }
    await this.#lines.append(encodeLine({ kind: 'response', value }))
  }

  /** When everything is on the disk, or has failed to get there. */
  async close(): Promise<void> {
    await Promise.all([this.#lines.close(), this.#refused?.lines.close()])
    if (this.#lines.isUnused) rmSync(this.#file.path, { force: true })
    this.#writer.release()
  }

  /** Returns the file for the next refused delivery. A reader of the replaced file can read it to its end. */
  #refusedLines(line: string): AppendedLines {
    const { deliveries, bytes } = this.#refusedMax
    let refused = this.#refused
    if (refused === undefined || refused.count >= deliveries || refused.lines.size + line.length > bytes) {
      const { path } = fileOf(this.dir, this.#file.number, true)
      const aside = `${path}.${randomBytes(4).toString('hex')}`
      const lines = new AppendedLines(openNew(aside, this.#writer.name))
      renameSync(aside, path)
      void refused?.lines.close()
      this.#refused = refused = { lines, count: 0 }
    }
    refused.count += 1
    return refused.lines
  }
}

/** Checks the head of every file, and removes the oldest refused deliveries of ended processes. */
function removeOldRefused(dir: string, bytesMax: number): void {
  const alive = new Set(writersIn(dir).map(({ name }) => name))
  let bytes = 0
  for (const file of listFiles(dir).reverse()) {
    const writer = readWriter(file)
    if (!file.isRefused || (writer !== null && alive.has(writer))) continue
    bytes += statSync(file.path).size
    if (bytes > bytesMax) rmSync(file.path, { force: true })
  }
}

function readWriter(file: InboxFile): string | null {
  const descriptor = openSync(file.path, 'r')
  try {
    return writerOf(file, descriptor)
  } finally {
    closeSync(descriptor)
  }
}
