/** So many that have come wait for no more of them. */
const BATCH_MAX = 32

/**
 * Requests of several connections begin one after the other, when a tick brought no more of them: each step is made for
 * all before the next, while its code is in the processor's cache, and one wake-up of the peer serves several answers.
 */
export class Together {
  #waiting: (() => void)[] = []
  #seen = 1

  add(begin: () => void): void {
    if (this.#waiting.push(begin) === 1) setImmediate(this.#beginOrWait)
  }

  /** Those that wait begin now. */
  begin(): void {
    const batch = this.#waiting
    this.#waiting = []
    this.#seen = 1
    for (const begin of batch) begin()
  }

  readonly #beginOrWait = (): void => {
    const { length } = this.#waiting
    if (length <= this.#seen || length >= BATCH_MAX) return this.begin()
    this.#seen = length
    setImmediate(this.#beginOrWait)
  }
}
