/** Milliseconds since the epoch, as the rules see them. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** From the true time on, whatever the machine's clock is set to later. */
function steadyClock(): Clock {
  const start = Date.now() - performance.now()
  return { now: () => Math.floor(start + performance.now()) }
}

/** A running clock that can be moved forward (decisions.md 7, clock). */
export class TestClock implements Clock {
  #offset = 0
  readonly #base: Clock

  constructor(base: Clock = steadyClock()) {
    this.#base = base
  }

  now(): number {
    return this.#base.now() + this.#offset
  }

  /** @param ms not negative */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('a test clock only moves forward')
    this.#offset += Math.round(ms)
  }
}
