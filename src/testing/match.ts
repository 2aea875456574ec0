import { inspect } from 'node:util'

/** A function that returns true, or the expected members; those that are missing here are not compared. */
export type Match<T> = ((record: T) => boolean) | { readonly [Name in keyof T]?: unknown }

/** True if a record matches. Objects may have more members than expected, lists have exactly the expected items. */
export function matches<T extends object>(record: T, match: Match<T>): boolean {
  return typeof match === 'function' ? match(record) : hasMembers(record, match)
}

function hasMembers(value: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return Object.is(value, expected)
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(expected)) return false
  // By toISOString, because Jest gives each test file its own realm, with its own Date.
  if ('toISOString' in expected) return String(JSON.stringify(value)) === JSON.stringify(expected)
  if (Array.isArray(expected) && expected.length !== (value as unknown[]).length) return false
  return Object.entries(expected).every(([name, it]) => hasMembers((value as Record<string, unknown>)[name], it))
}

/**
 * Returns the records that match, such as calls of `server.requests`. For any test runner.
 * @param times expected number; default: one or more
 * @throws Error that lists the records if another number matches
 */
export function assertMatches<T extends object>(records: readonly T[], match: Match<T>, times?: number): T[] {
  const found = records.filter((it) => matches(it, match))
  if (times === undefined ? found.length > 0 : found.length === times) return found
  throw new Error(
    `${found.length} of ${records.length} records match ${shown(match)}, expected ${times ?? '1 or more'}.\n${listOf(records)}`,
  )
}

const shown = (it: unknown) => (typeof it === 'function' ? String(it) : inspect(it, { depth: 4, breakLength: 200 }))

/** Lists the last records for a message. */
const listOf = (records: readonly object[]): string => records.slice(-10).map(shown).join('\n') || 'There are none.'
