import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'

/** Maximum unread lines of a follower; beyond it, the stream closes. */
const UNREAD_MAX = 10_000
/** Ms to collect live lines before writing: single writes dominate the CPU time of a busy log. */
const BATCH_MS = 50
/** Characters to write at a time, so that a slow reader delays further formatting. */
const CHUNK_LENGTH = 16_384
/** Ms to format before other work of the process may run: one line may take milliseconds. */
const PIECE_MS = 2
/** Pause for a process that has other work, which it has if its next turn comes later than LATE_MS. */
const PAUSE_MS = 8
const LATE_MS = 1

/**
 * Makes loops over items pause after PIECE_MS of work, and end with an error when `signal` aborts. The pause is short,
 * because only one recording runs at a time and the client waits at most 30 s for it.
 */
export function pieces(signal: AbortSignal, now = () => performance.now()) {
  let until = now() + PIECE_MS
  return async function* <T>(items: Iterable<T>): AsyncGenerator<T> {
    for (const it of items) {
      if (now() >= until) until = (await pause(PIECE_MS), now() + PIECE_MS)
      signal.throwIfAborted()
      yield it
    }
  }
}

/** An NDJSON stream of items. An item is formatted when the reader is ready. */
export class LineStream<T> extends Readable {
  readonly #format: (item: T) => string
  /** Monotonic time, ms. */
  readonly #now: () => number
  #waiting: T[]
  #next = 0
  #wanted = false
  #ends: boolean
  #timer: NodeJS.Timeout | undefined
  /** The next turn of the process, if the stream pauses until then. */
  #turn: NodeJS.Immediate | undefined

  /** @param follows true for a stream that stays open for further items */
  constructor(first: readonly T[], follows: boolean, format: (item: T) => string, now = () => performance.now()) {
    super()
    this.#waiting = [...first]
    this.#ends = !follows
    this.#format = format
    this.#now = now
  }

  add(item: T): void {
    this.#waiting.push(item)
    if (this.#waiting.length - this.#next > UNREAD_MAX) this.destroy()
    else if (this.#wanted && !this.#isPaused) this.#timer = setTimeout(() => this.#write(), BATCH_MS).unref()
  }

  /** Ends the stream after the waiting items. */
  finish(): void {
    this.#ends = true
    if (this.#wanted && this.#turn === undefined) this.#write()
  }

  get #isPaused(): boolean {
    return this.#timer !== undefined || this.#turn !== undefined
  }

  override _read(): void {
    this.#wanted = true
    // Items that wait for their batch, or for other work, stay until the timer fires.
    if (!this.#isPaused) this.#write()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#turn)
    this.#waiting = []
    done(error)
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (!this.#wanted) return
    const until = this.#now() + PIECE_MS
    const isTime = () => this.#next < this.#waiting.length && this.#now() < until
    while (this.#wanted && isTime()) {
      let text = ''
      do text += `${this.#format(this.#waiting[this.#next++] as T)}\n`
      while (text.length < CHUNK_LENGTH && isTime())
      this.#wanted = this.push(text)
    }
    this.#waiting = this.#waiting.slice(this.#next)
    this.#next = 0
    // Pause even if the reader stops reading now: it may continue before other work has run.
    if (this.#waiting.length > 0) this.#pause()
    else if (this.#ends && this.#wanted) this.push(null)
  }

  #pause(): void {
    const begin = this.#now()
    this.#turn = setImmediate(() => {
      this.#turn = undefined
      if (this.#now() - begin < LATE_MS) this.#write()
      else this.#timer = setTimeout(() => this.#write(), PAUSE_MS).unref()
    })
  }
}

/** The open streams of a log. */
export class Followers<T> {
  readonly #streams = new Set<LineStream<T>>()
  #isClosed = false

  get size(): number {
    return this.#streams.size
  }

  /**
   * Streams the stored items; if `follows`, the stream stays open for new ones. After `close` no stream stays open: a
   * page reconnects on the same connection while the server stops, and the server must not wait for it.
   */
  stream(kept: readonly T[], follows: boolean, format: (item: T) => string): LineStream<T> {
    const stays = follows && !this.#isClosed
    const stream = new LineStream(kept, stays, format)
    if (!stays) return stream
    this.#streams.add(stream)
    return stream.once('close', () => this.#streams.delete(stream))
  }

  /** True for a stream that stays open. */
  has(stream: LineStream<T>): boolean {
    return this.#streams.has(stream)
  }

  add(item: T): void {
    for (const stream of this.#streams) stream.add(item)
  }

  close(): void {
    this.#isClosed = true
    for (const stream of this.#streams) stream.finish()
    this.#streams.clear()
  }
}
