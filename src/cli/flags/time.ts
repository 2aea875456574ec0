import { durationMs } from '../../values/duration.js'
import { type Flag, one } from './flags.js'

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|[+-]\d\d:\d\d)?)?$/i

/**
 * Parses a typed date or time (rules/cli.md#typed-times) to RFC 3339 with an offset, by default of UTC; else undefined.
 * @param isEnd true if a date means its end
 */
export function parseTime(text: string, isEnd = false) {
  const [, day = '', clock, zone] = TIME.exec(text.trim()) ?? []
  // Date.parse accepts a 31st of any month.
  const date = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day) return undefined
  // RFC 3339 has no later year.
  if (isEnd && clock === undefined && day !== '9999-12-31') date.setUTCDate(date.getUTCDate() + 1)
  const time = clock === undefined ? '00:00:00' : clock.length === 5 ? `${clock}:00` : clock
  const instant = `${date.toISOString().slice(0, 10)}T${time}${(zone ?? 'Z').toUpperCase()}`
  return Number.isNaN(Date.parse(instant)) ? undefined : { instant, hasZone: zone !== undefined }
}

export const TIME_RULE = 'must be a date or time such as 2027-01-31 or 2027-01-31T18:00:00+08:00'

/** Sentence that names the zone of a time without one; undefined if the text names its zone. */
export function zoneNotice(name: string, text: string, isEnd = false): string | undefined {
  const time = parseTime(text, isEnd)
  if (time === undefined || time.hasZone) return undefined
  return `${name} ${text} is read in UTC, as ${time.instant}; write an offset such as +08:00 for another zone.`
}

/** Defines a flag that takes a date or time; its value is RFC 3339. @param isEnd true if a date means its end */
export const instant = (summary: string, isEnd = false): Flag<string | undefined> => ({
  ...one('TIME', summary, (text) => {
    const time = parseTime(text, isEnd)
    return time === undefined ? { ok: false, message: TIME_RULE } : { ok: true, value: time.instant }
  }),
  remark: (name, text) => zoneNotice(name, text, isEnd),
})

/** A time that the user typed, or a duration before now. */
export type Moment = { readonly instant: string } | { readonly agoMs: number }

/** Defines a flag that takes a time, or a duration before now such as `example`. @param valueOf value of the flag, if valid */
export const moment = <T>(
  summary: string,
  valueOf: (moment: Moment, text: string) => T | undefined,
  example = '10m',
): Flag<T | undefined> => ({
  ...one('TIME', summary, (text) => {
    const agoMs = durationMs(text)
    const found = agoMs === undefined ? parseTime(text) : { agoMs }
    const value = found && valueOf(found, text)
    return value === undefined
      ? { ok: false, message: `${TIME_RULE}, or a duration such as ${example}` }
      : { ok: true, value }
  }),
  remark: zoneNotice,
})
