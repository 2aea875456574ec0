/**
 * Runs what waits, so many at a time. It begins at the end of the tick in which something came, so that what comes in
 * one tick can go together.
 */
export class Lanes {
  readonly #max: number
  readonly #next: () => Promise<void> | null
  readonly #idle: (() => void)[] = []
  #running = 0
  #scheduled = false

  /** @param next takes what waits next and runs it, never to be rejected; null when nothing waits */
  constructor(max: number, next: () => Promise<void> | null) {
    this.#max = max
    this.#next = next
  }

  /** To be told whenever something waits. */
  schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#begin()
    })
  }

  /** Resolves when nothing waits or runs any more. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.schedule()
    })
  }

  #begin(): void {
    while (this.#running < this.#max) {
      const run = this.#next()
      if (run === null) break
      this.#running += 1
      void run.then(() => {
        this.#running -= 1
        this.schedule()
      })
    }
    if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}
