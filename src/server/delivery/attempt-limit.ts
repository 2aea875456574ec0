import type { DeliveryErrorCode } from './errors.js'

type Reached = Extract<DeliveryErrorCode, `${string}_timeout` | 'aborted'>

/**
 * Ends an attempt early: its time is up, or the server stops. An AbortSignal would do the same and lowers the rate of
 * deliveries measurably (P9 of test/bench/README.md).
 */
export class AttemptLimit {
  /** What the attempt waits for, as it stands: a limit that is reached meanwhile is named after it. */
  waitsFor: 'lookup' | 'connection' | 'tls' | 'response' = 'lookup'
  #reached: Reached | null = null
  readonly #timer: NodeJS.Timeout
  readonly #listeners = new Set<() => void>()

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#reach(`${this.waitsFor}_timeout`), timeoutMs)
  }

  get reached(): Reached | null {
    return this.#reached
  }

  /** The server stops. */
  abort(): void {
    this.#reach('aborted')
  }

  /** The attempt has ended. */
  release(): void {
    clearTimeout(this.#timer)
  }

  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  unlisten(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  #reach(reached: Reached): void {
    this.#reached ??= reached
    for (const listener of this.#listeners) listener()
  }
}
