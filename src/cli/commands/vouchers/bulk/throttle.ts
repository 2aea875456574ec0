/** Pause after a 429 without Retry-After; it doubles up to the maximum. */
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000

/**
 * Limits how many calls run concurrently. A 429 pauses all of them for as long as the server asks and halves the limit;
 * every four responses per concurrent call raise it by one. No row fails for it.
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

  /** Milliseconds until calls go out again, 0 when they do. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now())
  }

  /** Waits for its turn. False when the signal came first. */
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

  /** A call is over. */
  leave(): void {
    this.#running -= 1
    this.#wake()
  }

  /** The server took the call. */
  answered(): void {
    this.#refusals = 0
    if (this.#limit >= this.#most) return
    this.#answered += 1
    if (this.#answered < this.#limit * 4) return
    this.#answered = 0
    this.#limit += 1
  }

  /** A 429. @param retryAfterMs what the server asks for, null when it says nothing */
  slowDown(retryAfterMs: number | null): void {
    // Those that were on their way with the first one say nothing new.
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
