/** Milliseconds to pause after a 429 without Retry-After; each further 429 doubles them, up to PAUSE_MS_MAX. */
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 30_000

/**
 * Limits the number of concurrent calls. A 429 pauses all calls for as long as the server asks, and halves the limit;
 * it never fails a row. Afterwards, every four other responses per permitted call raise the limit by one.
 */
export class Throttle {
  readonly #most: number
  readonly #now: () => number
  #limit: number
  #running = 0
  #responses = 0
  #refusals = 0
  #pausedUntil = 0
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(most: number, monotonicMs: () => number) {
    this.#most = most
    this.#limit = most
    this.#now = monotonicMs
  }

  /** Remaining milliseconds of the pause; 0 without a pause. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#now())
  }

  /** Waits until a call may start; resolves to false if the signal aborts first. */
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

  /** Ends a call, so that another one may start. */
  leave(): void {
    this.#running -= 1
    this.#wake()
  }

  /** Counts a response that is not a 429. */
  countResponse(): void {
    this.#refusals = 0
    if (this.#limit >= this.#most) return
    this.#responses += 1
    if (this.#responses < this.#limit * 4) return
    this.#responses = 0
    this.#limit += 1
  }

  /** Pauses all calls after a 429 response. @param retryAfterMs its Retry-After, or null if it has none */
  slowDown(retryAfterMs: number | null): void {
    // During a pause, ignore 429 responses to calls that started before it: they must not halve the limit again.
    if (this.pauseMs === 0) {
      this.#limit = Math.max(1, Math.floor(this.#limit / 2))
      this.#responses = 0
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
