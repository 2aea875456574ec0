import { seededRandom } from '../../values/seeded-random.js'
import { type Mix, type Operation, operations } from './mix.js'

export const shapes = ['steady', 'ramp', 'spike'] as const
export type Shape = (typeof shapes)[number]

export interface Schedule {
  readonly shape: Shape
  /** Calls per second at the peak of the shape. */
  readonly rate: number
  readonly durationMs: number
  readonly mix: Mix
  /** Seed of the random order of operations. */
  readonly seed: number
}

export interface DueCall {
  /** Ms from the start of the run. */
  readonly dueMs: number
  readonly operation: Operation
}

/** Yields the calls of a schedule by due time; the same seed yields the same calls. */
export function* dueCalls(schedule: Schedule): Generator<DueCall, void> {
  const order = shuffledMix(schedule.mix, schedule.seed)
  for (let index = 0; ; index += 1) {
    const dueMs = dueTimeOf(index, schedule)
    if (dueMs >= schedule.durationMs) return
    yield { dueMs, operation: order.next().value }
  }
}

/** Share of the rate outside the burst of a spike. */
const SPIKE_BASE = 0.2
/** Start and end of the burst, as shares of the duration. */
const BURST_START = 0.4
const BURST_END = 0.6

/** Time in ms from the start at which call number `index` is due. */
function dueTimeOf(index: number, { shape, rate, durationMs }: Schedule): number {
  switch (shape) {
    case 'steady':
      return (index * 1000) / rate
    case 'ramp':
      // The rate grows linearly, so the number of calls grows with the square of the time.
      return Math.sqrt((2 * index * 1000 * durationMs) / rate)
    case 'spike': {
      const before = (rate * SPIKE_BASE * BURST_START * durationMs) / 1000
      const burst = (rate * (BURST_END - BURST_START) * durationMs) / 1000
      if (index <= before) return (index * 1000) / (rate * SPIKE_BASE)
      if (index <= before + burst) return BURST_START * durationMs + ((index - before) * 1000) / rate
      return BURST_END * durationMs + ((index - before - burst) * 1000) / (rate * SPIKE_BASE)
    }
  }
}

/** Yields operations so that each hundred has exactly the mix. */
function* shuffledMix(mix: Mix, seed: number): Generator<Operation, never> {
  const random = seededRandom(seed)
  const hundred = operations.flatMap((it) => Array<Operation>(mix[it]).fill(it))
  for (;;) {
    for (let left = hundred.length; left > 0; left -= 1) {
      const [picked] = hundred.splice(Math.floor(random() * left), 1) as [Operation]
      hundred.push(picked)
      yield picked
    }
  }
}

/** Ms that an issue call of the run may take; only later redeems use its voucher. */
const ISSUE_MS = 5_000

/**
 * Counts the calls of a schedule by operation, and the vouchers to issue ahead: for the trial, and for each redeem that
 * issue calls cannot supply in time.
 */
export function totalsOf(schedule: Schedule) {
  const calls = { issue: 0, verify: 0, redeem: 0 }
  let missing = 0
  let issued = 0
  const earlier = dueCalls(schedule)
  let next = earlier.next()
  for (const { dueMs, operation } of dueCalls(schedule)) {
    calls[operation] += 1
    if (operation !== 'redeem') continue
    for (; !next.done && next.value.dueMs <= dueMs - ISSUE_MS; next = earlier.next()) {
      if (next.value.operation === 'issue') issued += 1
    }
    missing = Math.max(missing, calls.redeem - issued)
  }
  return { calls, ahead: missing + 1 }
}

/** Computes the number of calls of a schedule without generating them. */
export function callCount({ shape, rate, durationMs }: Omit<Schedule, 'mix' | 'seed'>): number {
  const share = { steady: 1, ramp: 0.5, spike: SPIKE_BASE + (1 - SPIKE_BASE) * (BURST_END - BURST_START) }[shape]
  return Math.max(1, Math.round((rate * share * durationMs) / 1000))
}
