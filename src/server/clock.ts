/** Milliseconds since the epoch, as the rules see them. */
export interface Clock {
  now(): number
  /** Calls `listener` when the time has been moved, so that what falls due runs at once. Answers how to stop. */
  onMove(listener: () => void): () => void
}

const neverMoved = () => () => {}

export const systemClock: Clock = { now: () => Date.now(), onMove: neverMoved }

const start = Date.now() - performance.now()

/** From the true time on, whatever the machine's clock is set to later. */
export const steadyNow = (): number => Math.floor(start + performance.now())

const steadyClock: Clock = { now: steadyNow, onMove: neverMoved }

/** A running clock that can be moved forward (DECISIONS.md#test-clock). */
export class TestClock implements Clock {
  #offset = 0
  readonly #base: Pick<Clock, 'now'>
  readonly #listeners = new Set<() => void>()

  constructor(base: Pick<Clock, 'now'> = steadyClock) {
    this.#base = base
  }

  now(): number {
    return this.#base.now() + this.#offset
  }

  /** @param ms not negative */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('a test clock only moves forward')
    this.#offset += Math.round(ms)
    for (const listener of this.#listeners) listener()
  }

  onMove(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
