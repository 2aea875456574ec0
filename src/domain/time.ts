/** Conversion between instants on the wire (RFC 3339) and in memory (ms since the epoch, rules/calls.md#times). */

const FORM = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Parses an RFC 3339 date-time with an offset; truncates to milliseconds. Null for another form, a date or time that
 * does not exist (30 February, hour 24, second 60), and years outside 0001 to 9999 in UTC.
 */
export function parseInstant(value: string): number | null {
  const match = FORM.exec(value)
  if (match === null) return null
  const [, local = '', fraction = '', sign, hours, minutes] = match
  const localMs = Date.parse(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  // Date.parse rolls 30 February and hour 24 over to the next day instead of refusing them.
  if (Number.isNaN(localMs) || !new Date(localMs).toISOString().startsWith(local)) return null
  const offsetMs = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  const ms = sign === '+' ? localMs - offsetMs : localMs + offsetMs
  return ms < FIRST_MS || ms > LAST_MS ? null : ms
}

/** Number of cached formatted instants: records repeat instants (issued, valid from, updated, now). */
const CACHE_SIZE = 256
const cachedMs = new Float64Array(CACHE_SIZE).fill(Number.NaN)
const cachedText: string[] = []

/** Formats an instant in UTC with milliseconds and `Z`. @throws RangeError when `ms` is not a valid time */
export function formatInstant(ms: number): string {
  const place = ms & (CACHE_SIZE - 1)
  if (cachedMs[place] === ms) return cachedText[place] as string
  const text = new Date(ms).toISOString()
  cachedMs[place] = ms
  cachedText[place] = text
  return text
}

export const instantOrNull = (ms: number | null): string | null => (ms === null ? null : formatInstant(ms))

/**
 * Maximum clock skew between processes that share a store. A stored time further in the future means that the clock
 * was set back (rules/vouchers.md#clock-set-back).
 */
export const PROCESS_CLOCK_SKEW_MS_MAX = 300_000
