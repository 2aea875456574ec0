import fs from 'node:fs'
import process from 'node:process'
import { formatInstant } from '../../domain/time.js'

/** What waits for a reader that has stopped reading; lines beyond it are dropped and counted. */
const WAITING_CHARACTERS_MAX = 1024 * 1024
const RETRY_MS = 100
/** Lines wait so long for others: a write wakes a thread, which takes a tenth as long as a short request. */
const GATHER_MS = 10
const END_MS_MAX = 500
const STDERR = 2

/**
 * Log lines to stderr, one write at a time and the next with all lines that came meanwhile. Nobody has to read them:
 * memory is bounded, and no thread ever waits inside a write, which would keep the process from ending.
 */
export class StderrLog {
  #waiting = ''
  #dropped = 0
  #writing = false
  #gathering: NodeJS.Timeout | undefined
  #ended = false
  #drained: (() => void) | undefined
  readonly #atExit = () => this.#writeNow()

  constructor() {
    // Opening the stream makes a pipe non-blocking, and Node undoes that at its end. It stays unused: a stream
    // would keep what nobody reads, and the process with it.
    const stats = fs.fstatSync(STDERR)
    if (stats.isFIFO() || stats.isSocket()) void process.stderr
    process.once('exit', this.#atExit)
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > WAITING_CHARACTERS_MAX) {
      this.#dropped += 1
      return
    }
    this.#waiting += line
    if (!this.#writing) this.#gather()
  }

  /** Waits until everything is written, or half a second: a reader that has stopped holds nothing up. */
  async end(): Promise<void> {
    let overdue: NodeJS.Timeout | undefined
    if (this.#gathering !== undefined) this.#writeWaiting()
    if (this.#writing) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
        overdue = setTimeout(resolve, END_MS_MAX)
      })
    }
    clearTimeout(overdue)
    this.#ended = true
    process.off('exit', this.#atExit)
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => this.#writeWaiting(), GATHER_MS)
  }

  #writeWaiting(): void {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const bytes = Buffer.from(this.#waiting)
    this.#waiting = ''
    this.#writing = bytes.length > 0
    if (this.#writing) this.#write(bytes)
    else this.#drained?.()
  }

  #write(bytes: Buffer): void {
    fs.write(STDERR, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') {
        if (!this.#ended) setTimeout(() => this.#write(bytes), RETRY_MS).unref()
        return
      }
      // A reader that has gone, or a full disk: these lines are lost, and the server goes on.
      if (error === null && written < bytes.length) return this.#write(bytes.subarray(written))
      if (error === null) this.#sayDropped()
      if (this.#waiting === '' || this.#drained !== undefined) return this.#writeWaiting()
      this.#writing = false
      this.#gather()
    })
  }

  #sayDropped(): void {
    if (this.#dropped === 0) return
    const line = { level: 40, time: formatInstant(Date.now()), dropped: this.#dropped, msg: 'log lines were dropped' }
    this.#waiting += `${JSON.stringify(line)}\n`
    this.#dropped = 0
  }

  /** A process that ends without end(): what stderr takes without waiting. */
  #writeNow(): void {
    try {
      if (this.#waiting !== '') fs.writeSync(STDERR, this.#waiting)
    } catch {
      // Nobody reads it.
    }
  }
}
