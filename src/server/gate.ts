/**
 * Runs calls concurrently, and a reset or restore only while no call runs. Calls that arrive meanwhile wait.
 */
export class Gate {
  #running = 0
  /** Resolves when the gate may be open again, so the caller checks again. Null while it is open. */
  #closed: Promise<void> | null = null
  #drained: (() => void) | undefined
  #last: Promise<unknown> = Promise.resolve()
  #generation = 0

  /** Changes with each reset and restore; data read before a change may be outdated. */
  get generation(): number {
    return this.#generation
  }

  /** Runs a call as soon as the gate is open. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    while (this.#closed !== null) await this.#closed
    this.#running += 1
    try {
      return await call()
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#drained?.()
    }
  }

  /**
   * Runs `work` while no call runs, after all earlier work of the gate.
   * @param endWaitingCalls called when the gate has closed, to end calls that only wait
   */
  runExclusive<T>(work: () => Promise<T>, endWaitingCalls: () => void): Promise<T> {
    return this.queue(() => this.#closeAndRun(work, endWaitingCalls))
  }

  /** Runs `work` beside calls, after all earlier work of the gate. */
  queue<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  async #closeAndRun<T>(work: () => Promise<T>, endWaitingCalls: () => void): Promise<T> {
    let open = () => {}
    this.#closed = new Promise((resolve) => {
      open = resolve
    })
    try {
      endWaitingCalls()
      if (this.#running > 0) {
        await new Promise<void>((resolve) => {
          this.#drained = resolve
        })
      }
      return await work()
    } finally {
      this.#drained = undefined
      this.#generation += 1
      this.#closed = null
      open()
    }
  }
}
