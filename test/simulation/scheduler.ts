import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import type { Random } from '../faults/random.js'

/** What a callback belongs to: the callbacks of an ended owner never run. */
export interface Owner {
  ended: boolean
}

interface SimulatedEvent {
  readonly at: number
  readonly owner: Owner | undefined
  readonly run: () => unknown
}

/** Virtual time at which every simulation starts: 2027-03-01T12:00:00.000Z. */
export const START_MS = Date.UTC(2027, 2, 1, 12)

const real = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  clearImmediate,
  dateNow: Date.now,
  wait: timersPromises.setTimeout,
}

/**
 * Runs asynchronous code in virtual time. Timers and immediates of the whole process become events; of the events that
 * are due, a seeded choice decides which one runs next. Time passes only when no event is due.
 */
export class Scheduler {
  now = START_MS
  /** Number of events that have run. */
  steps = 0
  readonly #random: Random
  readonly #events = new Set<SimulatedEvent>()
  readonly #owners = new AsyncLocalStorage<Owner | undefined>()

  constructor(random: Random) {
    this.#random = random
  }

  /** Runs `work` so that all events that it causes belong to `owner`. */
  as<T>(owner: Owner | undefined, work: () => T): T {
    return this.#owners.run(owner, work)
  }

  /** Resolves after `ms` of virtual time, at a random position among the events of that moment. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#add(ms, resolve))
  }

  /** Runs events until `work` has settled. @throws if no event is left that could settle it, or after `stepsMax` */
  async run<T>(work: () => Promise<T>, stepsMax: number): Promise<T> {
    let settled = false
    const over = () => {
      settled = true
    }
    this.#install()
    try {
      const result = work()
      result.then(over, over)
      await this.#drain()
      while (!settled) {
        if (this.steps >= stepsMax) throw new Error(`the simulation did not end within ${stepsMax} steps`)
        if (!this.#runNext()) throw new Error('nothing is left to run')
        await this.#drain()
      }
      return await result
    } finally {
      this.#uninstall()
    }
  }

  /** Lets all promise callbacks run, and all callbacks of process.nextTick. */
  #drain(): Promise<void> {
    return new Promise((resolve) => real.setImmediate(resolve))
  }

  #runNext(): boolean {
    let due: SimulatedEvent[] = []
    let next = Number.POSITIVE_INFINITY
    for (const event of this.#events) {
      if (event.owner?.ended === true) this.#events.delete(event)
      else if (event.at <= this.now) due.push(event)
      else next = Math.min(next, event.at)
    }
    if (due.length === 0) {
      if (next === Number.POSITIVE_INFINITY) return false
      this.now = next
      due = [...this.#events].filter(({ at }) => at <= next)
    }
    const event = due.length === 1 ? (due[0] as SimulatedEvent) : this.#random.pick(due)
    this.#events.delete(event)
    this.steps += 1
    this.as(event.owner, event.run)
    return true
  }

  #add(ms: number, run: () => unknown): SimulatedEvent {
    const event = { at: this.now + Math.max(0, Math.ceil(ms)), owner: this.#owners.getStore(), run }
    this.#events.add(event)
    return event
  }

  #install(): void {
    const set = (ms: number | undefined, run: () => unknown) => new Timer(() => this.#add(ms ?? 0, run), this.#events)
    const repeat = (ms: number, run: () => unknown) => {
      const timer: Timer = set(ms, () => {
        timer.restart()
        run()
      })
      return timer
    }
    const clear = (timer: Timer | undefined) => timer?.clear?.()
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => unknown, ms?: number, ...args: unknown[]) =>
        set(ms, () => run(...args)),
      setImmediate: (run: (...args: unknown[]) => unknown, ...args: unknown[]) => set(0, () => run(...args)),
      setInterval: (run: (...args: unknown[]) => unknown, ms: number, ...args: unknown[]) =>
        repeat(Math.max(1, ms), () => run(...args)),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    })
    Object.assign(timersPromises, { setTimeout: (ms: number) => this.sleep(ms) })
    syncBuiltinESMExports()
    Date.now = () => this.now
    performance.now = () => this.now - START_MS
  }

  #uninstall(): void {
    const { dateNow, wait, ...timers } = real
    Object.assign(globalThis, timers)
    Object.assign(timersPromises, { setTimeout: wait })
    syncBuiltinESMExports()
    Date.now = dateNow
    // Removes the replacement, which hides the method of the prototype.
    delete (performance as { now?: unknown }).now
  }
}

/** The part of NodeJS.Timeout that the server uses. */
class Timer {
  #event: SimulatedEvent
  readonly #start: () => SimulatedEvent
  readonly #events: Set<SimulatedEvent>

  constructor(start: () => SimulatedEvent, events: Set<SimulatedEvent>) {
    this.#start = start
    this.#events = events
    this.#event = start()
  }

  clear(): void {
    this.#events.delete(this.#event)
  }

  restart(): void {
    this.#event = this.#start()
  }

  refresh(): this {
    this.clear()
    this.restart()
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}
