import { inspect } from 'node:util'
import { hasMembers } from '../values/has-members.js'

/** A function that returns true, or the expected members; those that are missing here are not compared. */
export type Match<T> = ((record: T) => boolean) | { readonly [Name in keyof T]?: unknown }

/** True if a record matches. Objects may have more members than expected, lists have exactly the expected items. */
export function matches<T extends object>(record: T, match: Match<T>): boolean {
  return typeof match === 'function' ? match(record) : hasMembers(record, match)
}

/**
 * Returns the records that match, such as calls of `server.requests`. For any test runner.
 * @param times expected number; default: one or more
 * @throws Error that lists the records if another number matches
 */
export function assertMatches<T extends object>(records: readonly T[], match: Match<T>, times?: number): T[] {
  const found = records.filter((it) => matches(it, match))
  if (times === undefined ? found.length > 0 : found.length === times) return found
  throw new Error(mismatch(records, match, found.length, times))
}

/** Says how many records match, and lists the last ones. */
export function mismatch<T extends object>(records: readonly T[], match: Match<T>, found = 0, times?: number): string {
  const list = records.slice(-10).map(shown).join('\n') || 'There are none.'
  return `${found} of ${records.length} records match ${shown(match)}, expected ${times ?? '1 or more'}.\n${list}`
}

const shown = (it: unknown) => (typeof it === 'function' ? String(it) : inspect(it, { depth: 4, breakLength: 200 }))
