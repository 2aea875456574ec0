/** A day of 86,400 s: daylight saving time does not apply. */
export const DAY_MS = 86_400_000

export const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS } as const

/** Parses a duration such as `500ms`, `30s`, `5m`, `1.5h`, `2d`, or a number of seconds; undefined if invalid. */
export function durationMs(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/.exec(text)
  if (match === null) return undefined
  return Math.round(Number(match[1]) * UNITS_MS[(match[2] ?? 's') as keyof typeof UNITS_MS])
}
