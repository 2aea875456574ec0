import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Refusal, refuse } from '../contract/errors.js'
import type { faultKinds } from '../contract/platform.js'

interface Fault {
  readonly endpoint: string
  readonly kind: (typeof faultKinds)[number]
  readonly times: number
  readonly delay_ms: number | null
}

/** Failures on purpose, by contract id, for the next calls (DECISIONS.md#faults). */
export class Faults {
  readonly #ended = new AbortController()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #queues = new Map<string, { fault: Fault; left: number }[]>()

  constructor() {
    // Each call that is delayed listens; Node would warn of the eleventh.
    setMaxListeners(0, this.#ended.signal)
  }

  add(fault: Fault): void {
    const queue = this.#queues.get(fault.endpoint) ?? []
    queue.push({ fault, left: fault.times })
    this.#queues.set(fault.endpoint, queue)
  }

  /**
   * Runs a call under the fault that was set for its endpoint, if any.
   * @param drop closes the connection of the response
   */
  run<T>(endpoint: string, call: () => Promise<T>, drop: () => void): Promise<T | Refusal<'SERVICE_UNAVAILABLE'>> {
    const fault = this.#next(endpoint)
    return fault === undefined ? call() : this.track(this.#meet(fault, call, drop))
  }

  async #meet<T>(fault: Fault, call: () => Promise<T>, drop: () => void): Promise<T | Refusal<'SERVICE_UNAVAILABLE'>> {
    const refusal = { ...refuse('SERVICE_UNAVAILABLE'), retryAfterSeconds: 1 }
    if (fault.delay_ms !== null) {
      try {
        await this.delay(fault.delay_ms)
      } catch {
        return refusal
      }
    }
    if (fault.kind === 'error') return refusal
    const result = await call()
    // The response is still written, for the log and the metrics.
    if (fault.kind === 'drop_response') drop()
    return result
  }

  /** The fault that the next call of an endpoint meets, used up by one. */
  #next(endpoint: string): Fault | undefined {
    const queue = this.#queues.get(endpoint)
    const entry = queue?.[0]
    if (queue === undefined || entry === undefined) return undefined
    entry.left -= 1
    if (entry.left === 0) queue.shift()
    if (queue.length === 0) this.#queues.delete(endpoint)
    return entry.fault
  }

  /** Delays a call on purpose. @throws when the server stops before the delay ends */
  async delay(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#ended.signal })
  }

  /** Registers a call that a fault delays, so that `end` waits for it. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call)
    return call.finally(() => this.#calls.delete(call))
  }

  /** Ends all delays; resolves when the delayed calls have ended. */
  async end(): Promise<void> {
    this.#ended.abort()
    await Promise.allSettled(this.#calls)
  }

  /** How many were removed. */
  clear(): number {
    const removed = [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    this.#queues.clear()
    return removed
  }
}
