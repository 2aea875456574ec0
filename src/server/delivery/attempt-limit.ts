import type { DeliveryErrorCode } from './errors.js'

type LimitReason = Extract<DeliveryErrorCode, `${string}_timeout` | 'aborted'>

/**
 * Ends a delivery attempt at its timeout or when the server stops. An AbortSignal would do the same but measurably
 * lowers the delivery rate (P9 of test/bench/README.md).
 */
export class AttemptLimit {
  /** Current phase of the attempt; the reason of a timeout names the phase, such as `tls_timeout`. */
  waitsFor: 'lookup' | 'connection' | 'tls' | 'response' = 'lookup'
  #reached: LimitReason | null = null
  readonly #timer: NodeJS.Timeout
  readonly #listeners = new Set<() => void>()

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#reach(`${this.waitsFor}_timeout`), timeoutMs)
  }

  get reached(): LimitReason | null {
    return this.#reached
  }

  /** Ends the attempt because the server stops. */
  abort(): void {
    this.#reach('aborted')
  }

  /** Cancels the timeout after the end of the attempt. */
  release(): void {
    clearTimeout(this.#timer)
  }

  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  unlisten(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  #reach(reached: LimitReason): void {
    this.#reached ??= reached
    for (const listener of this.#listeners) listener()
  }
}
