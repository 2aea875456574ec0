import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type Refusal, refuse } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import type { Fault } from '../contract/platform/controls.js'
import type { RandomBytes } from '../domain/ids.js'

/** Ids of the endpoints that can have faults: all except the operator's. */
export const faultable: readonly string[] = endpoints.filter(({ caller }) => caller !== 'operator').map(({ id }) => id)

type NewFault = Omit<Fault, 'id' | 'left'>

interface FaultSources {
  newId(prefix: 'flt'): string
  readonly random: RandomBytes
}

/** Injects faults into calls of an endpoint, by contract id (RULES.md#faults). */
export class Faults {
  readonly #ended = new AbortController()
  /** Aborted while a reset or restore waits for delayed calls. */
  #held = new AbortController()
  readonly #calls = new Set<Promise<unknown>>()
  /** Active faults, oldest first. */
  #faults: readonly Fault[] = []
  readonly #listeners = new Set<() => void>()
  readonly #sources: FaultSources

  constructor(sources: FaultSources) {
    this.#sources = sources
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

  add(added: NewFault): Fault {
    const fault = { id: this.#sources.newId('flt'), ...added, left: added.times }
    this.#change([...this.#faults, fault])
    return fault
  }

  /** Calls `listener` after each change, even of a remaining count. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  list(): readonly Fault[] {
    return this.#faults
  }

  /** Removes a fault and returns it. */
  remove(id: string): Fault | undefined {
    const fault = this.#faults.find((it) => it.id === id)
    if (fault !== undefined) this.#change(this.#faults.filter((it) => it !== fault))
    return fault
  }

  /**
   * Runs a call with the oldest fault of its endpoint that affects it, if any.
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
    // Return the result although the connection is closed: request log and metrics record it.
    if (fault.kind === 'drop_response') drop()
    return result
  }

  /** Finds the fault of a call, decrementing its count. */
  #next(endpoint: string): Fault | undefined {
    const next = this.#faults.find(
      (it) => it.endpoint === endpoint && (it.rate === null || this.#randomShare() < it.rate),
    )
    if (typeof next?.left === 'number') this.#count(next, next.left - 1)
    return next
  }

  #count(fault: Fault, left: number): void {
    this.#change(this.#faults.flatMap((it) => (it !== fault ? it : left === 0 ? [] : { ...fault, left })))
  }

  #change(faults: readonly Fault[]): void {
    this.#faults = faults
    for (const listener of this.#listeners) listener()
  }

  /** A random number from 0 to less than 1. */
  #randomShare(): number {
    return Buffer.from(this.#sources.random(4)).readUInt32BE() / 2 ** 32
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
    const removed = this.#faults.length
    if (removed > 0) this.#change([])
    return removed
  }
}
