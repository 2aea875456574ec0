import type { Forecast } from '../../../contract/platform/controls.js'
import { count } from './format.js'

/** Positions of the slider in seconds from now: small steps near now, large steps later. */
export const steps: readonly number[] = [
  ...[0, 1, 5, 15, 30].map((it) => it * 60),
  ...[1, 2, 4, 8, 16].map((it) => it * 3600),
  ...[1, 2, 3, 5, 7, 10, 14, 21, 31, 45, 60, 90, 120, 180, 270, 365].map((it) => it * 86_400),
]

/** First slider position at or after a distance. */
export function stepOf(seconds: number): number {
  const step = steps.findIndex((it) => it >= seconds)
  return step < 0 ? steps.length - 1 : step
}

const events = [
  ['deliveries_due', 'delivery falls due', 'deliveries fall due'],
  ['vouchers_expiring', 'voucher expires', 'vouchers expire'],
  ['vouchers_becoming_valid', 'voucher becomes valid', 'vouchers become valid'],
  ['tokens_expiring', 'token expires', 'tokens expire'],
] as const

/** Describes in a sentence what a move of the clock triggers. */
export function sentenceOf(forecast: Forecast): string {
  const parts = events
    .filter(([name]) => forecast[name])
    .map(([name, one, many]) => `${count(forecast[name])} ${forecast[name] === 1 ? one : many}`)
  return `${parts.join(', ') || 'Nothing happens'}${forecast.complete ? '' : ', and perhaps more'}.`
}

/** Reads a time in UTC such as `2027-01-31 12:00:00Z`, in ms; undefined for another text or a day that does not exist. */
export function instantIn(text: string): number | undefined {
  const [, day, time = '00:00', second = ':00'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)? ?Z?$/i.exec(text.trim()) ?? []
  const ms = Date.parse(`${day}T${time}${second}Z`)
  // Some browsers read 31 February as 3 March.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day ? undefined : ms
}

/** Says why the clock cannot be moved to what the user typed; undefined if it can. @param now of the server in ms */
export function refusalOf(text: string, now: number): string | undefined {
  const ms = instantIn(text)
  if (ms === undefined) return 'Write a time in UTC, such as 2027-01-31 12:00:00Z.'
  return ms <= now ? 'The clock only moves forward: choose a later time.' : undefined
}
