/** Pause after a 429 without Retry-After; it doubles up to the maximum. */
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000

/**
 * Limits how many calls run concurrently. A 429 pauses all of them for as long as the server asks and halves the limit;
 * every four responses per concurrent call raise it by one. A 429 never fails a row.
 */
export class Throttle {
  readonly #most: number
  readonly #now: () => number
  #limit: number
  #running = 0
  #answered = 0
  #refusals = 0
  #pausedUntil = 0
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(most: number, monotonicMs: () => number) {
    this.#most = most
    this.#limit = most
    this.#now = monotonicMs
  }

  /** Milliseconds until the pause ends; 0 without a pause. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now())
  }

  /** Waits for a slot; false if the signal aborts first. */
  async enter(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && (this.#running >= this.#limit || this.pauseMs > 0)) {
      this.#wakeAfterPause()
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener('abort', wake)
          resolve()
        }
        signal.addEventListener('abort', wake, { once: true })
        this.#waiting.push(wake)
      })
    }
    if (signal.aborted) {
      clearTimeout(this.#timer)
      return false
    }
    this.#running += 1
    return true
  }

  /** Releases the slot of a call. */
  leave(): void {
    this.#running -= 1
    this.#wake()
  }

  /** Counts a response other than 429. */
  answered(): void {
    this.#refusals = 0
    if (this.#limit >= this.#most) return
    this.#answered += 1
    if (this.#answered < this.#limit * 4) return
    this.#answered = 0
    this.#limit += 1
  }

  /** Reacts to a 429. @param retryAfterMs Retry-After of the response, or null */
  slowDown(retryAfterMs: number | null): void {
    // Ignore further 429 responses to calls that were in flight with the first one.
    if (this.pauseMs === 0) {
      this.#limit = Math.max(1, Math.floor(this.#limit / 2))
      this.#answered = 0
      this.#refusals += 1
    }
    const ms = retryAfterMs ?? Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** (this.#refusals - 1))
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now() + ms)
  }

  #wakeAfterPause(): void {
    if (this.pauseMs === 0) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(this.pauseMs))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
