import { faultInput } from '../contract/platform/controls.js'
import { type Clock, LATEST_TEST_TIME, TestClock } from '../server/clock.js'
import { type Faults, issueOfFault } from '../server/faults.js'
import { lazyValidator } from '../server/http/schema-validator.js'
import { durationMs } from '../values/duration.js'
import { readInstant, shown, TestingError, wrongType, wrongValue } from './arguments.js'
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

/** Checks a fault by the rules of the operator call, whose messages name the member. @throws TypeError or RangeError */
function readFault(fault: NewFault): NewFault {
  if (typeof fault !== 'object' || fault === null) throw wrongType('fault', 'an object', fault)
  // JSON leaves out members that are undefined.
  const given: NewFault = JSON.parse(JSON.stringify(fault))
  const issue = validateFault(given)?.[0] ?? issueOfFault(given)
  if (issue === undefined) return given
  const path = issue.pointer.split('/').slice(1)
  const value = path.reduce<unknown>((it, name) => (it as Record<string, unknown>)[name], fault)
  const got = value === undefined ? '' : `, got ${shown(value)}`
  const Mistake = ofType.has(issue.code) || value === undefined ? TypeError : RangeError
  throw new Mistake(`${['fault', ...path].join('.')} ${issue.message}${got}`)
}

const validateFault = lazyValidator(faultInput)

/** Codes of issues that no other value of the same type would mend. */
const ofType = new Set(['type', 'additionalProperties', 'conflict'])
