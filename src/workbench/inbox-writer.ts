import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  write,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { codeOf } from '../files/error-code.js'
import type { RecordedDelivery, RecordedResponse } from './inbox.js'
import { encodeLine, linesOf, listFiles, markersIn, sizeOf, startOf, writersIn } from './inbox.js'

/** Limits on refused deliveries, which any web page can send (DECISIONS.md#refused-deliveries). */
const REFUSED_MAX = { deliveries: 1_000, bytes: 16 * 1024 * 1024 }
const RESPONSE_BYTES_MAX = 64 * 1024
const SYNC_MS = 1_000

/** Records deliveries and responses in files that only this process writes. */
export class InboxWriter {
  readonly #refusedMax: typeof REFUSED_MAX
  readonly #own: ReturnType<typeof createOwn>
  #refused: LineFile | undefined
  /** Number of the last delivery, refused ones included. */
  #count = 0

  /**
   * Creates a missing folder with mode 0700.
   * @throws errors of the file system, or an error with the code INBOX_FORMAT
   */
  constructor(dir: string, refusedMax = REFUSED_MAX) {
    this.#refusedMax = refusedMax
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    removeOldRefused(dir, refusedMax.bytes)
    this.#own = createOwn(dir)
  }

  /** Resolves to the id once a kill cannot lose the delivery. If it rejects, the inbox does not hold the delivery. */
  async recordDelivery(delivery: RecordedDelivery): Promise<string> {
    const id = `${this.#own.number}-${++this.#count}`
    const { body } = delivery
    const line = encodeLine({ kind: 'delivery', id, ...delivery, body_bytes: body.length, body_crc: crc32(body) })
    await (delivery.verdict === 'refused' ? this.#refusedFor(line) : this.#own.lines).append(line)
    return id
  }

  recordResponse({ body, ...others }: RecordedResponse): Promise<void> {
    const recorded = body.subarray(0, RESPONSE_BYTES_MAX)
    return this.#own.lines.append(encodeLine({ kind: 'response', ...others, body: recorded, body_bytes: body.length }))
  }

  /** Resolves when all lines are on the disk or have failed. */
  async close(): Promise<void> {
    const { lines, marker } = this.#own
    await Promise.all([lines.close(), this.#refused?.close()])
    if (lines.bytes === 0) rmSync(lines.path, { force: true })
    rmSync(marker, { force: true })
  }

  /** Returns the file of the refused deliveries, emptied if the line does not fit. */
  #refusedFor(line: string): LineFile {
    const { deliveries, bytes } = this.#refusedMax
    this.#refused ??= new LineFile(this.#own.refusedPath)
    if (this.#refused.count >= deliveries || this.#refused.bytes + line.length > bytes) this.#refused.restart()
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

/** Creates the marker of this process and then its file, under an unused number. */
function createOwn(dir: string) {
  for (const { path, isRunning } of markersIn(dir)) if (!isRunning) rmSync(path, { force: true })
  for (let number = (listFiles(dir).at(-1)?.number ?? 0) + 1; ; number += 1) {
    const base = join(dir, String(number).padStart(6, '0'))
    const marker = `${base}-${process.pid}-${startOf(process.pid)}.writer`
    writeFileSync(marker, '', { mode: 0o600 })
    try {
      const lines = new LineFile(`${base}.ndjson`)
      // Until the folder is synced a power failure may lose the name of the file. Windows cannot open a folder.
      if (process.platform !== 'win32') syncFolder(dir)
      return { number, lines, refusedPath: `${base}.refused.ndjson`, marker }
    } catch (error) {
      rmSync(marker)
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}

function syncFolder(dir: string): void {
  const folder = openSync(dir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** A new file of lines, synced once a second. Lines that arrive during a write share the next one. */
class LineFile {
  readonly path: string
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
  bytes = 0
  count = 0

  /** @throws EEXIST if the file exists */
  constructor(path: string) {
    this.path = path
    const file = openSync(path, 'wx', 0o600)
    this.#descriptor = file
    this.#syncTimer = setInterval(() => fdatasync(file, () => {}), SYNC_MS).unref()
  }

  append(line: string): Promise<void> {
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
    // Wait for the end of this tick, so that lines of concurrent requests share a write.
    await setImmediate()
    const lines = Buffer.from(this.#lines)
    this.#lines = ''
    this.#next = undefined
    try {
      if (this.#isRestarting) ftruncateSync(this.#descriptor, (this.#end = 0))
      this.#isRestarting = false
      for (let done = 0; done < lines.length; ) {
        const { bytesWritten } = await writeAt(this.#descriptor, lines, done, lines.length - done, this.#end + done)
        done += bytesWritten
      }
    } catch (error) {
      // Remove the part that a full disk still took.
      ftruncateSync(this.#descriptor, this.#end)
      throw error
    }
    this.#end += lines.length
  }

  /** Removes all lines before the next one. */
  restart(): void {
    this.#isRestarting = true
    this.bytes = this.count = 0
  }

  async close(): Promise<void> {
    await this.#last
    clearInterval(this.#syncTimer)
    fdatasyncSync(this.#descriptor)
    closeSync(this.#descriptor)
  }
}

const writeAt = promisify(write)
