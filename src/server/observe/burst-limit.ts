/** Limit of lines: a burst of at most LINES, then LINES_PER_WINDOW in each window; as many more for failures. */
const LINES = 200
const WINDOW_MS = 100
const LINES_PER_WINDOW = 2
/** CPU ms for exchanges of lines, per burst and window. An exchange takes 100 us, a hostile one 20 ms. */
const BURST_MS = 30
const MS_PER_WINDOW = 1

/** Limits the live lines of an activity stream, and the CPU time for their exchanges. */
export class BurstLimit {
  readonly #onOmitted: (count: number, last: number) => void
  #lines = LINES
  /** Lines for failures after those for all: no failure is left out where a success is not. */
  #failures = LINES
  #ms = BURST_MS
  #omitted = 0
  #lastOmitted = 0
  /** Undefined while the whole burst is left. */
  #window: NodeJS.Timeout | undefined

  /** @param onOmitted reports lines beyond the limit: their count and the number of the last one */
  constructor(onOmitted: (count: number, last: number) => void) {
    this.#onOmitted = onOmitted
  }

  /** True if a line and the time for its exchange are left. */
  hasLine(isFailure: boolean): boolean {
    return (this.#lines > 0 || (isFailure && this.#failures > 0)) && this.hasTime
  }

  /** True if time for exchanges is left. */
  get hasTime(): boolean {
    return this.#ms > 0
  }

  /** Takes a line; false, and counts the line as omitted, if none is left. */
  take(seq: number, isFailure: boolean): boolean {
    this.#window ??= setTimeout(() => this.#endWindow(), WINDOW_MS).unref()
    if (this.#lines > 0) this.#lines -= 1
    else if (isFailure && this.#failures > 0) this.#failures -= 1
    else {
      this.#omitted += 1
      this.#lastOmitted = seq
      return false
    }
    return true
  }

  /** Subtracts the time that an exchange took. */
  spend(ms: number): void {
    this.#ms -= ms
  }

  /** Reports the omitted lines; called before each line, so that readers know where lines are missing. */
  reportOmitted(): void {
    if (this.#omitted === 0) return
    const count = this.#omitted
    this.#omitted = 0
    this.#onOmitted(count, this.#lastOmitted)
  }

  close(): void {
    clearTimeout(this.#window)
    this.reportOmitted()
  }

  #endWindow(): void {
    this.reportOmitted()
    this.#lines = Math.min(LINES, this.#lines + LINES_PER_WINDOW)
    this.#failures = Math.min(LINES, this.#failures + LINES_PER_WINDOW)
    this.#ms = Math.min(BURST_MS, this.#ms + MS_PER_WINDOW)
    const isFull = this.#lines + this.#failures === 2 * LINES && this.#ms === BURST_MS
    this.#window = isFull ? undefined : setTimeout(() => this.#endWindow(), WINDOW_MS).unref()
  }
}
