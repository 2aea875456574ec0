import fs from 'node:fs'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import pino, { type Logger } from 'pino'
import { formatInstant } from '../../domain/time.js'
import type { ServerOptions } from '../options.js'

/** Maximum bytes to buffer while the reader of stderr is slow; further lines are dropped and counted. */
const BUFFER_BYTES_MAX = 1024 * 1024
/** Minimum bytes to write before FLUSH_MS: 1 KiB took 2 us more per verify. SonicBoom writes at most 16 KiB. */
const WRITE_BYTES_MIN = 15 * 1024
const FLUSH_MS = 50
const END_MS_MAX = 500
const STDERR = 2

/** Writes log lines to stderr through pino's destination. A reader that stops reading cannot block the process. */
export class StderrLog {
  readonly #destination = pino.destination({
    dest: STDERR,
    // Asynchronous writes run in a thread, which a slow reader would block; the thread would keep the process alive.
    sync: true,
    // SonicBoom counts the bytes of a buffer once, but of a text again with each line.
    contentMode: 'buffer',
    minLength: WRITE_BYTES_MIN,
    maxLength: BUFFER_BYTES_MAX,
    periodicFlush: FLUSH_MS,
    // Without this, pino blocks until the reader continues; with it, unwritten lines stay in the buffer.
    retryEAGAIN: () => false,
  })
  #dropped = 0
  #ended = false
  readonly #flushAtExit = () => this.#destination.flush()

  readonly #format: (line: string) => string

  constructor(format: (line: string) => string = (line) => line) {
    this.#format = format
    // Opening process.stderr makes a pipe non-blocking: a write to a full pipe then fails with EAGAIN.
    const stats = fs.fstatSync(STDERR)
    if (stats.isFIFO() || stats.isSocket()) void process.stderr
    // Ignore write errors: the reader has exited, or the disk is full.
    this.#destination.on('error', () => {})
    this.#destination.on('drop', () => {
      this.#dropped += 1
    })
    this.#destination.on('drain', () => this.#writeDropped())
    process.once('exit', this.#flushAtExit)
  }

  write(line: string): void {
    // SonicBoom's types lack the Buffer that `contentMode` requires.
    if (!this.#ended) this.#destination.write(Buffer.from(this.#format(line)) as unknown as string)
  }

  /** Flushes the buffer; waits at most half a second for a slow reader. */
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

interface ServerLog {
  readonly log: Pick<Logger, 'error' | 'info' | 'isLevelEnabled' | 'warn'>
  readonly target: { write(line: string): void; end?(): Promise<void> }
}

/** Opens the log of a server. Import this module lazily: a server inside a test has no log. */
export function openLog({ logTo, logLevel = 'info', formatLog }: ServerOptions): ServerLog {
  const target = logTo ?? new StderrLog(formatLog)
  return { target, log: pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, target) }
}
