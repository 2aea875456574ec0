import { faultInput } from '../contract/platform/controls.js'
import { type Clock, LATEST_TEST_TIME, TestClock } from '../server/clock.js'
import { type Faults, issueOfFault } from '../server/faults.js'
import { lazyValidator } from '../server/http/schema-validator.js'
import { durationMs } from '../values/duration.js'
import { readInstant, readInteger, requireMembers, shown, TestingError, wrongType, wrongValue } from './arguments.js'
import { WITHIN_MS, WITHIN_MS_MAX } from './receiver.js'
import type { ClockControl, FaultControl, HeldCall, NewFault, TestServer } from './types.js'
import type { Waiting } from './waiting.js'

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

/** @param requireOpen throws when the server is closed */
export function controlHolds(faults: Faults, waiting: Waiting, requireOpen: () => void): TestServer['hold'] {
  return async (endpoint, options = {}) => {
    requireOpen()
    requireMembers('options', options, ['at', 'nth', 'match', 'hold_ms', 'within'])
    const { within: given, ...members } = options
    const within = readInteger('options.within', given, 0, WITHIN_MS_MAX) ?? WITHIN_MS
    const { id } = faults.add(readFault({ ...members, endpoint, kind: 'hold' }))
    let call: HeldCall | undefined
    let isReleased = false
    const letGo = () => faults.release((it) => it.fault_id === id)
    const stop = faults.onChange(() => {
      const held = faults.held().find((it) => it.fault_id === id)
      if (held === undefined) return
      call = { endpoint, at: held.at, requestId: held.request_id, time: new Date(held.since) }
      stop()
      waiting.look()
      if (isReleased) letGo()
    })
    const overdue = () => new TestingError('CALL_NOT_RECEIVED', `Within ${within} ms no call of ${endpoint} was held`)
    return {
      get call() {
        return waiting.wait(within, () => call, overdue)
      },
      release() {
        isReleased = true
        // If the fault has chosen its call, the call may not have reached the place yet: it goes on from there.
        if (faults.remove(id) !== undefined) stop()
        letGo()
      },
    }
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
