import fs from 'node:fs'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import pino from 'pino'
import { formatInstant } from '../../domain/time.js'

/** Lines that wait for a reader who has stopped reading; further ones are dropped and counted. */
const BUFFER_BYTES_MAX = 1024 * 1024
/** Write at this size or after this time. SonicBoom measures its whole buffer with each line: 4 KiB cost more CPU time. */
const WRITE_BYTES_MIN = 1024
const FLUSH_MS = 50
const END_MS_MAX = 500
const STDERR = 2

/** Log lines to stderr through pino's destination: a reader who stops or leaves neither blocks nor ends the process. */
export class StderrLog {
  readonly #destination = pino.destination({
    dest: STDERR,
    // A thread that blocks in a write would keep the process from ending.
    sync: true,
    minLength: WRITE_BYTES_MIN,
    maxLength: BUFFER_BYTES_MAX,
    periodicFlush: FLUSH_MS,
    // By default it sleeps until the reader goes on. What could not be written stays in the buffer.
    retryEAGAIN: () => false,
  })
  #dropped = 0
  #ended = false
  readonly #flushAtExit = () => this.#destination.flush()

  constructor() {
    // Opening the stream makes a pipe non-blocking: a write to a full one fails with EAGAIN.
    const stats = fs.fstatSync(STDERR)
    if (stats.isFIFO() || stats.isSocket()) void process.stderr
    // The reader has stopped or gone, or the disk is full.
    this.#destination.on('error', () => {})
    this.#destination.on('drop', () => {
      this.#dropped += 1
    })
    this.#destination.on('drain', () => this.#writeDropped())
    process.once('exit', this.#flushAtExit)
  }

  write(line: string): void {
    if (!this.#ended) this.#destination.write(line)
  }

  /** Flushes; waits at most half a second for a slow reader. */
  async end(): Promise<void> {
    const until = performance.now() + END_MS_MAX
    while ((await this.#flush())?.code === 'EAGAIN' && performance.now() < until) await wait(FLUSH_MS)
    this.#flushAtExit()
    process.off('exit', this.#flushAtExit)
    this.#ended = true
    this.#destination.destroy()
  }

  #flush(): Promise<NodeJS.ErrnoException | undefined> {
    return new Promise((resolve) => this.#destination.flush(resolve))
  }

  #writeDropped(): void {
    if (this.#dropped === 0) return
    const line = { level: 40, time: formatInstant(Date.now()), dropped: this.#dropped, msg: 'log lines were dropped' }
    this.#dropped = 0
    this.write(`${JSON.stringify(line)}\n`)
  }
}
