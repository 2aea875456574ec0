import type { LoadClock } from '../../../src/cli/load/open-loop.js'

/** A clock that jumps to the earliest end of a sleep as soon as nothing else is left to do. */
export class VirtualClock implements LoadClock {
  #nowMs = 0
  #sleeps: { readonly endMs: number; readonly wake: () => void }[] = []

  nowMs(): number {
    return this.#nowMs
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.#sleeps.push({ endMs: this.#nowMs + ms, wake })
      this.#sleeps.sort((one, other) => one.endMs - other.endMs)
      setImmediate(() => this.#wakeNext())
    })
  }

  /** Lets time pass without a turn of the event loop, as a computation does. */
  block(ms: number): void {
    this.#nowMs += ms
  }

  #wakeNext(): void {
    const next = this.#sleeps.shift()
    if (next === undefined) return
    this.#nowMs = Math.max(this.#nowMs, next.endMs)
    next.wake()
  }
}
