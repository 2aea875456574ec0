import {
  FAULT_CODE,
  FAULT_PATH,
  type FaultNumber,
  faultIssue,
  faultKinds,
  faultNumbers,
  type NewFault,
} from '../contract/platform/fault-kinds.js'
import { closest } from '../contract/values/closest.js'
import { durationMs } from '../contract/values/duration.js'
import { type Clock, LATEST_TEST_TIME, TestClock } from '../server/clock.js'
import { type Faults, faultable } from '../server/faults.js'
import { readInstant, readInteger, requireMembers, TestingError, wrongType, wrongValue } from './arguments.js'
import type { ClockControl, FaultControl } from './types.js'

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

function readFault(fault: NewFault): NewFault {
  const names = Object.keys(faultNumbers) as FaultNumber[]
  requireMembers('fault', fault, ['endpoint', 'kind', ...names, 'share', 'rate', 'match', 'code'])
  const { endpoint, kind } = fault
  if (!faultable.includes(endpoint)) {
    const close = closest(String(endpoint), faultable)
    const expected = `the id of an endpoint such as ${close ?? 'vouchers.redeem'}`
    throw typeof endpoint === 'string'
      ? wrongValue('fault.endpoint', expected, endpoint)
      : wrongType('fault.endpoint', expected, endpoint)
  }
  if (!faultKinds.includes(kind)) throw wrongValue('fault.kind', `one of ${faultKinds.join(', ')}`, kind)
  const share = readShare('fault.share', fault.share) ?? readShare('fault.rate', fault.rate)
  for (const name of names) readInteger(`fault.${name}`, fault[name], faultNumbers[name][0], faultNumbers[name][1])
  if (kind === 'delay' && fault.delay_ms === undefined)
    throw wrongType('fault.delay_ms', `a number of ms up to ${faultNumbers.delay_ms[1]}`, undefined)
  readText('fault.code', fault.code, FAULT_CODE, 'a code such as RATE_LIMITED')
  if (fault.match !== undefined) {
    requireMembers('fault.match', fault.match, ['path', 'body'])
    const { path, body } = fault.match
    readText('fault.match.path', path, FAULT_PATH, 'a path that begins with /')
    if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
      throw wrongType('fault.match.body', 'an object', body)
  }
  const times = fault.times ?? (share === undefined ? 1 : undefined)
  const read = times === undefined ? fault : { ...fault, times }
  const issue = faultIssue(read)
  if (issue !== undefined) throw new TypeError(`fault.${issue.member} ${issue.message}`)
  return read
}

function readText(path: string, value: unknown, pattern: string, expected: string): void {
  if (value === undefined) return
  if (typeof value !== 'string') throw wrongType(path, expected, value)
  if (!new RegExp(pattern).test(value)) throw wrongValue(path, expected, value)
}

function readShare(path: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const expected = 'a number above 0 and up to 1'
  if (typeof value !== 'number') throw wrongType(path, expected, value)
  if (!(value > 0 && value <= 1)) throw wrongValue(path, expected, value)
  return value
}
