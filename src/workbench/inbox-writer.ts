import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, rmSync, statSync, write } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { codeOf } from '../files/error-code.js'
import { makeFolder, syncFolder } from '../files/sync-folder.js'
import { encodeLine, linesOf, listFiles, type RecordedDelivery, type RecordedResponse, sizeOf } from './inbox.js'

/** Limits on recorded refused deliveries: any web page can send them (rules/workbench.md#refused-deliveries). */
const REFUSED_MAX = { deliveries: 1_000, bytes: 16 * 1024 * 1024 }
const RESPONSE_BYTES_MAX = 64 * 1024

/** Records deliveries and responses in files that only this process writes. */
export class InboxWriter {
  readonly #refusedMax: typeof REFUSED_MAX
  readonly #own: ReturnType<typeof createOwn>
  #refused: LineFile | undefined
  /** Sequence number of the last delivery, including refused ones. */
  #count = 0

  /**
   * Creates the folder if it is missing, with mode 0700.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string, refusedMax = REFUSED_MAX) {
    this.#refusedMax = refusedMax
    makeFolder(dir)
    removeOldRefused(dir, refusedMax.bytes)
    this.#own = createOwn(dir)
  }

  /** Records a delivery. Resolves to its id, for a verified delivery after the fsync; rejects without a record. */
  async recordDelivery(delivery: RecordedDelivery): Promise<string> {
    const id = `${this.#own.number}-${++this.#count}`
    const { body } = delivery
    const line = encodeLine({ kind: 'delivery', id, ...delivery, body_bytes: body.length, body_crc: crc32(body) })
    if (delivery.verdict === 'refused') await this.#refusedFor(line).append(line)
    else await this.#own.lines.append(line, true)
    return id
  }

  /** Records a response. A power failure may lose the record; the delivery then counts as failed. */
  recordResponse({ body, ...others }: RecordedResponse): Promise<void> {
    const recorded = body.subarray(0, RESPONSE_BYTES_MAX)
    return this.#own.lines.append(encodeLine({ kind: 'response', ...others, body: recorded, body_bytes: body.length }))
  }

  /** Resolves when every recorded line is written or has failed. */
  async close(): Promise<void> {
    await Promise.all([this.#own.lines.close(), this.#refused?.close()])
  }

  /** Returns the file for refused deliveries. If the line would exceed the limits, the file is emptied first. */
  #refusedFor(line: string): LineFile {
    const { deliveries, bytes } = this.#refusedMax
    this.#refused ??= new LineFile(this.#own.refusedPath)
    if (this.#refused.count >= deliveries || this.#refused.bytes + line.length > bytes) this.#refused.restart()
    return this.#refused
  }
}

/** Checks the format of every inbox file, and deletes the oldest refused deliveries of other processes. */
function removeOldRefused(dir: string, bytesMax: number): void {
  let bytes = 0
  for (const { path, isRefused } of listFiles(dir).reverse()) {
    for (const _first of linesOf(path)) break
    if (!isRefused) continue
    bytes += sizeOf(path)
    if (bytes > bytesMax) rmSync(path, { force: true })
  }
}

/** Creates the inbox file of this process under the next free number. */
function createOwn(dir: string) {
  for (let number = (listFiles(dir).at(-1)?.number ?? 0) + 1; ; number += 1) {
    const base = join(dir, String(number).padStart(6, '0'))
    try {
      const lines = new LineFile(`${base}.ndjson`)
      syncFolder(dir)
      return { number, lines, refusedPath: `${base}.refused.ndjson` }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}

/** A new file for JSON lines. Lines that arrive during a write share the next write and its fsync. */
class LineFile {
  readonly #path: string
  #descriptor: number
  /** End offset of the last complete line. */
  #end = 0
  #lines = ''
  #isRestarting = false
  #mustSync = false
  /** The next write, with all waiting lines. */
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** Bytes and number of lines since the file was created or emptied. */
  bytes = 0
  count = 0

  /** @throws EEXIST if the file exists */
  constructor(path: string) {
    this.#path = path
    this.#descriptor = openSync(path, 'wx', 0o600)
  }

  /** @param mustSync true to resolve only when the line is on disk */
  append(line: string, mustSync = false): Promise<void> {
    this.#mustSync ||= mustSync
    this.bytes += line.length
    this.count += 1
    this.#lines += line
    if (this.#next === undefined) {
      this.#next = this.#last.then(() => this.#write())
      this.#last = this.#next.catch(() => {})
    }
    return this.#next
  }

  async #write(): Promise<void> {
    // Wait until this turn of the event loop ends, so that lines of concurrent requests share a write.
    await setImmediate()
    const lines = Buffer.from(this.#lines)
    const mustSync = this.#mustSync
    this.#lines = ''
    this.#mustSync = false
    this.#next = undefined
    do await this.#add(lines, mustSync)
    while (this.#followPath())
  }

  async #add(lines: Buffer, mustSync: boolean): Promise<void> {
    try {
      if (this.#isRestarting) ftruncateSync(this.#descriptor, (this.#end = 0))
      this.#isRestarting = false
      for (let done = 0; done < lines.length; ) {
        const { bytesWritten } = await writeAt(this.#descriptor, lines, done, lines.length - done, this.#end + done)
        done += bytesWritten
      }
      if (mustSync) await syncData(this.#descriptor)
    } catch (error) {
      // Remove the lines: a full disk may have written only a part.
      ftruncateSync(this.#descriptor, this.#end)
      throw error
    }
    this.#end += lines.length
  }

  /** True if `inbox clear` has set the file aside, possibly before the last write; a new file is then started. */
  #followPath(): boolean {
    const { ino } = fstatSync(this.#descriptor)
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === ino) return false
    const descriptor = openSync(this.#path, 'wx', 0o600)
    closeSync(this.#descriptor)
    this.#descriptor = descriptor
    this.#end = 0
    syncFolder(dirname(this.#path))
    return true
  }

  /** Empties the file before the next line is written. */
  restart(): void {
    this.#isRestarting = true
    this.bytes = this.count = 0
  }

  async close(): Promise<void> {
    await this.#last
    closeSync(this.#descriptor)
  }
}

const writeAt = promisify(write)
const syncData = promisify(fdatasync)
