import { plainLine } from './plain.js'
import { isInstant, timeInList, withTimes } from './time.js'

/** Converts a member name such as `externalIssueId` or `external_issue_id` to `external issue id`. */
export function labelOf(name: string): string {
  return plainLine(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.]/g, ' ')
    .toLowerCase()
}

/** Formats a number with separators, such as `12,345`. */
export const numberText = (it: number): string => it.toLocaleString('en-US')

/** Returns a string as it is, and any other value as JSON. */
export const textOrJson = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Formats a value on one line for a person. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string') return plainLine(isInstant(value) ? withTimes(value) : value)
  if (Array.isArray(value)) return value.map((it) => textOf(it)).join(', ') || '-'
  if (typeof value === 'object') {
    return (
      Object.entries(value)
        .filter(([, it]) => it !== null)
        .map(([name, it]) => `${labelOf(name)} ${memberText(name, it)}`)
        .join(', ') || '-'
    )
  }
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

/** Names of members that hold Unix seconds (DECISIONS.md#times). Values beyond the range of Date stay numbers. */
const UNIX_SECONDS = /(?:^|[._])date$/
const UNIX_SECONDS_MAX = 8.64e12

/** Formats a member. @param now current time in ms, to add how long a time is away */
export function memberText(name: string, value: unknown, now?: number): string {
  const isDate = typeof value === 'number' && UNIX_SECONDS.test(name) && Math.abs(value) <= UNIX_SECONDS_MAX
  const shown = isDate ? new Date(value * 1000).toISOString() : value
  return now !== undefined && isInstant(shown) ? timeInList(shown, now) : textOf(shown)
}
