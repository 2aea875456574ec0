/** Time in ms since the epoch for business rules: from the system clock or the test clock. */
export interface Clock {
  now(): number
  /** Calls `listener` after each move of the test clock. Returns a function that removes the listener. */
  onMove(listener: () => void): () => void
}

/** Current system time in ms, not changed by moves of a test clock. */
export const trueTime = (clock: Clock): number => (clock instanceof TestClock ? clock.trueNow() : clock.now())

const neverMoved = () => () => {}

export const systemClock: Clock = { now: () => Date.now(), onMove: neverMoved }

const start = Date.now() - performance.now()

/** System time at the start of the process plus monotonic time: ignores later changes of the system clock. */
export const steadyNow = (): number => Math.floor(start + performance.now())

const steadyClock: Clock = { now: steadyNow, onMove: neverMoved }

/** Latest test clock: derived times (expiry, validity) must stay below the year 10000, the limit of RFC 3339. */
export const LATEST_TEST_TIME = Date.UTC(9990, 0)

/** Number of clock moves that a client may miss before its next call. */
const EARLIER_MAX = 100

/** A running clock that can be moved forward (rules/operator.md#test-clock). */
export class TestClock implements Clock {
  #offset = 0
  /** Offsets before each move, latest first, without duplicates. */
  #earlier: readonly number[] = []
  readonly #base: Pick<Clock, 'now'>
  readonly #listeners = new Set<() => void>()

  constructor(base: Pick<Clock, 'now'> = steadyClock) {
    this.#base = base
  }

  now(): number {
    return this.#base.now() + this.#offset
  }

  /** Ms by which the clock is ahead of the true time; negative after a restore of an older state. */
  get ahead(): number {
    return this.#offset
  }

  /** Moves the clock forward. @param ms not negative */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('a test clock only moves forward')
    this.#move(this.#offset + Math.round(ms))
  }

  trueNow(): number {
    return this.#base.now()
  }

  /** Sets the clock to the difference from the true time that the store has, in ms. */
  follow(ahead: number): void {
    if (ahead !== this.#offset) this.#move(ahead)
  }

  /** Current times by the clock before each of its latest moves, for clients that have not seen these moves. */
  earlierNows(): number[] {
    return this.#earlier.map((offset) => this.#base.now() + offset)
  }

  #move(offset: number): void {
    this.#earlier = [this.#offset, ...this.#earlier.filter((it) => it !== this.#offset)].slice(0, EARLIER_MAX)
    this.#offset = offset
    for (const listener of this.#listeners) listener()
  }

  onMove(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
