/** Matches an instant in UTC as JSON writes it. */
const INSTANT = /\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z(?![\w-])/

const wholeInstant = new RegExp(`^${INSTANT.source}$`)

export const isInstant = (value: unknown): value is string => typeof value === 'string' && wholeInstant.test(value)

/** Formats the instants in a text for a person (DECISIONS.md#tables): `2026-11-21 10:00:05Z`. */
export const withTimes = (text: string) => text.replaceAll(new RegExp(INSTANT.source, 'g'), '$1 $2Z')

const units = [
  ['y', 365 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** Formats how long an instant is from now in its largest unit: `3h ago`, `in 5d`. */
export function distanceOf(instant: string, now: number): string {
  const seconds = Math.round((Date.parse(instant) - now) / 1000)
  const size = Math.abs(seconds)
  const [unit, length] = units.find(([, it]) => size >= it) ?? ['s', 1]
  const amount = `${Math.floor(size / length)}${unit}`
  if (seconds === 0) return 'now'
  return seconds < 0 ? `${amount} ago` : `in ${amount}`
}

/** Formats an instant with its distance from now, as in lists. */
export const timeInList = (instant: string, now: number) =>
  isInstant(instant) ? `${withTimes(instant)} (${distanceOf(instant, now)})` : instant
