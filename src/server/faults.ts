import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Refusal, refuse } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import type { faultKinds } from '../contract/platform.js'

/** Ids of the endpoints that can have faults: all but those of the operator. */
export const faultable: readonly string[] = endpoints.filter(({ caller }) => caller !== 'operator').map(({ id }) => id)

interface Fault {
  readonly endpoint: string
  readonly kind: (typeof faultKinds)[number]
  readonly times: number
  readonly delay_ms: number | null
}

/** Injects faults into the next calls of an endpoint, by contract id (DECISIONS.md#faults). */
export class Faults {
  readonly #ended = new AbortController()
  /** Aborted while a reset or restore waits for delayed calls. */
  #held = new AbortController()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #queues = new Map<string, { fault: Fault; left: number }[]>()

  constructor() {
    // Each delayed call adds a listener; Node would warn at the eleventh.
    setMaxListeners(0, this.#ended.signal, this.#held.signal)
  }

  /** Ends all delays until `resume`: the delayed calls run now. */
  hold(): void {
    this.#held.abort()
  }

  resume(): void {
    this.#held = new AbortController()
    setMaxListeners(0, this.#held.signal)
  }

  add(fault: Fault): void {
    const queue = this.#queues.get(fault.endpoint) ?? []
    queue.push({ fault, left: fault.times })
    this.#queues.set(fault.endpoint, queue)
  }

  /**
   * Runs a call with the next fault of its endpoint, if any.
   * @param drop closes the connection without sending the response
   */
  run<T>(endpoint: string, call: () => Promise<T>, drop: () => void): Promise<T | Refusal<'SERVICE_UNAVAILABLE'>> {
    const fault = this.#next(endpoint)
    return fault === undefined ? call() : this.track(this.#apply(fault, call, drop))
  }

  async #apply<T>(fault: Fault, call: () => Promise<T>, drop: () => void): Promise<T | Refusal<'SERVICE_UNAVAILABLE'>> {
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
    // Return the result although its connection is closed: the request log and the metrics record it.
    if (fault.kind === 'drop_response') drop()
    return result
  }

  /** Takes the next fault of an endpoint, decrementing its count. */
  #next(endpoint: string): Fault | undefined {
    const queue = this.#queues.get(endpoint)
    const entry = queue?.[0]
    if (queue === undefined || entry === undefined) return undefined
    entry.left -= 1
    if (entry.left === 0) queue.shift()
    if (queue.length === 0) this.#queues.delete(endpoint)
    return entry.fault
  }

  /** Delays a call. @throws when the server stops before the delay ends */
  async delay(ms: number): Promise<void> {
    const signal = AbortSignal.any([this.#ended.signal, this.#held.signal])
    await setTimeout(ms, undefined, { signal }).catch(() => this.#ended.signal.throwIfAborted())
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

  /** Removes all faults; returns their number. */
  clear(): number {
    const removed = [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    this.#queues.clear()
    return removed
  }
}
