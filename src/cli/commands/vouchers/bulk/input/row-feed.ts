import { untilAborted } from '../../../../host/until-aborted.js'
import type { ReadRow } from './row.js'

/** Hands out the rows of an input one by one, to several who ask. */
export class RowFeed {
  readonly #blocks: AsyncIterator<readonly ReadRow[]>
  readonly #signal: AbortSignal
  #block: readonly ReadRow[] = []
  #at = 0
  #ended = false
  #loading: Promise<void> | undefined

  constructor(rows: AsyncIterable<readonly ReadRow[]>, signal: AbortSignal) {
    this.#blocks = rows[Symbol.asyncIterator]()
    this.#signal = signal
  }

  /** The next row; undefined when there is none, or the signal came first. */
  async next(): Promise<ReadRow | undefined> {
    for (;;) {
      if (this.#at < this.#block.length) return this.#block[this.#at++]
      if (this.#ended) return undefined
      this.#loading ??= this.#load()
      await this.#loading
    }
  }

  async #load(): Promise<void> {
    const next = await untilAborted(this.#blocks.next(), this.#signal)
    this.#ended = next === undefined || next.done === true
    this.#block = next === undefined || next.done ? [] : next.value
    this.#at = 0
    this.#loading = undefined
  }
}
