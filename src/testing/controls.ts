import { FAULT_DELAY_MS_MAX, FAULT_TIMES_MAX, faultKinds } from '../contract/platform/controls.js'
import { closest } from '../contract/values/closest.js'
import { durationMs } from '../contract/values/duration.js'
import { type Clock, LATEST_TEST_TIME, TestClock } from '../server/clock.js'
import { type Faults, faultable } from '../server/faults.js'
import { readInstant, readInteger, requireMembers, TestingError, wrongType, wrongValue } from './arguments.js'
import type { ClockControl, FaultControl, NewFault } from './types.js'

/** @param requireOpen throws when the server is closed */
export function controlClock(clock: Clock, requireOpen: () => void): ClockControl {
  const movable = () => {
    requireOpen()
    if (clock instanceof TestClock) return clock
    throw new TestingError(
      'TEST_CLOCK_OFF',
      'This server has no test clock: start it without databaseUrl and clock: false',
    )
  }
  const advance = (path: string, ms: number, value: unknown) => {
    const moving = movable()
    if (moving.now() + ms > LATEST_TEST_TIME) throw wrongValue(path, 'a time before the year 9990', value)
    moving.advance(ms)
  }
  return {
    now() {
      requireOpen()
      return new Date(clock.now())
    },
    advance(by) {
      movable()
      if (typeof by !== 'string' && typeof by !== 'number') throw wrongType('by', DURATION, by)
      const ms = typeof by === 'string' ? durationMs(by) : by
      if (ms === undefined || !Number.isFinite(ms) || ms < 0) throw wrongValue('by', DURATION, by)
      advance('by', ms, by)
    },
    set(to) {
      const ms = readInstant('to', to)
      const forward = ms - movable().now()
      if (forward < 0) throw wrongValue('to', `an instant from ${new Date(clock.now()).toISOString()}`, to)
      advance('to', forward, to)
    },
  }
}

const DURATION = 'a duration such as 31d, 12h, 5m, 30s or 500ms, or a number of ms'

/** @param requireOpen throws when the server is closed */
export function controlFaults(faults: Faults, requireOpen: () => void): FaultControl {
  return {
    add(fault) {
      requireOpen()
      faults.add(readFault(fault))
    },
    clear() {
      requireOpen()
      return faults.clear()
    },
  }
}

function readFault(fault: NewFault) {
  requireMembers('fault', fault, ['endpoint', 'kind', 'times', 'rate', 'delay_ms'])
  const { endpoint, kind } = fault
  if (!faultable.includes(endpoint)) {
    const close = closest(String(endpoint), faultable)
    const expected = `the id of an endpoint such as ${close ?? 'vouchers.redeem'}`
    throw typeof endpoint === 'string'
      ? wrongValue('fault.endpoint', expected, endpoint)
      : wrongType('fault.endpoint', expected, endpoint)
  }
  if (!faultKinds.includes(kind)) throw wrongValue('fault.kind', `one of ${faultKinds.join(', ')}`, kind)
  const rate = readRate(fault.rate)
  const times = readInteger('fault.times', fault.times, 1, FAULT_TIMES_MAX) ?? (rate === null ? 1 : null)
  const delay = readInteger('fault.delay_ms', fault.delay_ms, 0, FAULT_DELAY_MS_MAX) ?? null
  if (kind === 'delay' && delay === null)
    throw wrongType('fault.delay_ms', `a number of ms up to ${FAULT_DELAY_MS_MAX}`, undefined)
  return { endpoint, kind, times, rate, delay_ms: delay }
}

function readRate(value: unknown): number | null {
  if (value === undefined) return null
  const expected = 'a number above 0 and up to 1'
  if (typeof value !== 'number') throw wrongType('fault.rate', expected, value)
  if (!(value > 0 && value <= 1)) throw wrongValue('fault.rate', expected, value)
  return value
}
