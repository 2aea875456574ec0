import { inspect, types } from 'node:util'
import { parseInstant } from '../domain/time.js'
import { requireKnown } from '../values/closest.js'

const SHOWN_LENGTH_MAX = 80

/** Formats a value for a message. */
export function shown(value: unknown): string {
  const text = inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY })
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`
}

/** Returns the error for an argument of a wrong type. @param path path of the argument, such as `options.clock` */
export function wrongType(path: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${path} must be ${expected}, got ${shown(value)}`)
}

export function wrongValue(path: string, expected: string, value: unknown): RangeError {
  return new RangeError(`${path} must be ${expected}, got ${shown(value)}`)
}

/** @throws TypeError unless the value is an object with known members only */
export function requireMembers(path: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(path, 'an object', value)
  requireKnown(path, value, known)
}

/** @throws TypeError unless the value is absent, true or false */
export function readBoolean(path: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined) return otherwise
  if (typeof value !== 'boolean') throw wrongType(path, 'true or false', value)
  return value
}

/** @throws TypeError or RangeError unless the value is absent or an integer within the limits */
export function readInteger(path: string, value: unknown, min: number, max: number): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number') throw wrongType(path, 'a number', value)
  if (!Number.isInteger(value) || value < min || value > max) {
    throw wrongValue(path, `an integer from ${min} to ${max}`, value)
  }
  return value
}

/** True for a Date of any realm, because Jest gives each test file its own realm. */
export const isDate = (value: unknown): value is Date => types.isDate(value)

export const INSTANT_WORDS = 'a Date or an instant such as 2027-03-01T12:00:00Z'

/** Reads an instant, in ms since the epoch. @throws TypeError or RangeError */
export function readInstant(path: string, value: unknown): number {
  if (!isDate(value) && typeof value !== 'string') throw wrongType(path, INSTANT_WORDS, value)
  const ms = isDate(value) ? value.getTime() : (parseInstant(value) ?? Number.NaN)
  if (!(ms >= 0)) throw wrongValue(path, INSTANT_WORDS, value)
  return ms
}

/** A failure of the library itself; `code` names the kind. */
export class TestingError extends Error {
  override readonly name = 'TestingError'
  readonly code:
    | 'SERVER_CLOSED'
    | 'TEST_CLOCK_OFF'
    | 'UPDATE_NOT_RECEIVED'
    | 'CALL_NOT_RECEIVED'
    | 'BOT_UNUSABLE'
    | 'NO_PORT'
    | 'NOTHING_PROVED'

  constructor(code: TestingError['code'], message: string) {
    super(message)
    this.code = code
  }
}
