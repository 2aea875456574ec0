import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, rmSync, write } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { createFile, linesOf, listFiles, openNew, sizeOf, writersIn } from './files.js'
import type { RecordedDelivery, RecordedResponse } from './lines.js'
import { encodeLine } from './lines.js'

/** Limits on refused deliveries, which any web page can send (DECISIONS.md#refused-deliveries). */
const REFUSED_MAX = { deliveries: 1_000, bytes: 16 * 1024 * 1024 }
const RESPONSE_BYTES_MAX = 64 * 1024
const SYNC_MS = 1_000

export type NewResponse = Omit<RecordedResponse, 'body_bytes'>

/** Records deliveries and responses in files of its own. */
export class InboxWriter {
  readonly #refusedMax: typeof REFUSED_MAX
  readonly #file: ReturnType<typeof createFile>
  readonly #lines: LineFile
  #refused: LineFile | undefined
  /** Last number given to a delivery, refused ones included. */
  #count = 0

  /**
   * Creates a missing folder with mode 0700.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string, refusedMax = REFUSED_MAX) {
    this.#refusedMax = refusedMax
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    removeOldRefused(dir, refusedMax.bytes)
    this.#file = createFile(dir)
    this.#lines = new LineFile(this.#file.descriptor)
  }

  /** Resolves to the id of the delivery, which a kill cannot lose then. If it rejects, the inbox does not have it. */
  async recordDelivery(delivery: RecordedDelivery): Promise<string> {
    const id = `${this.#file.number}-${++this.#count}`
    const { body } = delivery
    const line = encodeLine({ kind: 'delivery', id, ...delivery, body_bytes: body.length, body_crc: crc32(body) })
    await (delivery.verdict === 'refused' ? this.#refusedFor(line) : this.#lines).append(line)
    return id
  }

  recordResponse({ body, ...others }: NewResponse): Promise<void> {
    const recorded = body.subarray(0, RESPONSE_BYTES_MAX)
    return this.#lines.append(encodeLine({ kind: 'response', ...others, body: recorded, body_bytes: body.length }))
  }

  /** Resolves when all lines are on the disk or have failed. */
  async close(): Promise<void> {
    await Promise.all([this.#lines.close(), this.#refused?.close()])
    if (this.#lines.size === 0) rmSync(this.#file.path, { force: true })
    rmSync(this.#file.marker, { force: true })
  }

  /** Returns the file of the refused deliveries, which restarts without room for the line. */
  #refusedFor(line: string): LineFile {
    const { deliveries, bytes } = this.#refusedMax
    this.#refused ??= new LineFile(openNew(this.#file.refusedPath))
    if (this.#refused.count >= deliveries || this.#refused.size + line.length > bytes) this.#refused.restart()
    return this.#refused
  }
}

/** Checks the format of every file, and removes the oldest refused deliveries of ended processes. */
function removeOldRefused(dir: string, bytesMax: number): void {
  const files = listFiles(dir).reverse()
  const running = new Set(writersIn(dir).map(({ number }) => number))
  let bytes = 0
  for (const { path, number, isRefused } of files) {
    for (const _first of linesOf(path)) break
    if (!isRefused || running.has(number)) continue
    bytes += sizeOf(path)
    if (bytes > bytesMax) rmSync(path, { force: true })
  }
}

/** Appends lines to an empty file. Lines that arrive during a write share the next one. */
class LineFile {
  readonly #descriptor: number
  readonly #syncTimer: NodeJS.Timeout
  /** Offset of the end of the last complete line. */
  #end = 0
  #lines = ''
  #isRestarting = false
  /** The write that takes the waiting lines. */
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** Size and count of the lines since the start. */
  size = 0
  count = 0

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#syncTimer = setInterval(() => fdatasync(descriptor, () => {}), SYNC_MS).unref()
  }

  append(line: string): Promise<void> {
    this.size += line.length
    this.count += 1
    this.#lines += line
    if (this.#next === undefined) {
      this.#next = this.#last.then(() => this.#write())
      this.#last = this.#next.catch(() => {})
    }
    return this.#next
  }

  async #write(): Promise<void> {
    // Wait for the end of this tick, so that lines of concurrent requests share a write.
    await setImmediate()
    const bytes = Buffer.from(this.#lines)
    this.#lines = ''
    this.#next = undefined
    try {
      if (this.#isRestarting) ftruncateSync(this.#descriptor, (this.#end = 0))
      this.#isRestarting = false
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await writeAt(this.#descriptor, bytes, done, bytes.length - done, this.#end + done)
        done += bytesWritten
      }
    } catch (error) {
      // Remove the part that a full disk still took.
      ftruncateSync(this.#descriptor, this.#end)
      throw error
    }
    this.#end += bytes.length
  }

  /** Removes all lines before the next one. */
  restart(): void {
    this.#isRestarting = true
    this.size = this.count = 0
  }

  async close(): Promise<void> {
    await this.#last
    clearInterval(this.#syncTimer)
    fdatasyncSync(this.#descriptor)
    closeSync(this.#descriptor)
  }
}

const writeAt = promisify(write)
