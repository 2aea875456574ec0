import { type Flag, one } from './flags.js'

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|[+-]\d\d:\d\d)?)?$/i

interface TypedTime {
  /** RFC 3339 with an offset, as the interface requires. */
  readonly instant: string
  /** True if the text names its zone; otherwise UTC is assumed. */
  readonly hasZone: boolean
}

/** Parses a date or time as a person types it (RULES.md#typed-times); undefined if invalid. */
export function parseTime(text: string): TypedTime | undefined {
  const [, day = '', clock = '00:00', zone] = TIME.exec(text.trim()) ?? []
  // Date.parse accepts a 31st of any month.
  const date = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day) return undefined
  const instant = `${day}T${clock.length === 5 ? `${clock}:00` : clock}${(zone ?? 'Z').toUpperCase()}`
  return Number.isNaN(Date.parse(instant)) ? undefined : { instant, hasZone: zone !== undefined }
}

export const TIME_RULE = 'must be a date or time such as 2027-01-31 or 2027-01-31T18:00:00+08:00'

/** Sentence that names the zone of a time without one; undefined if the text names its zone. */
export function zoneNotice(name: string, text: string): string | undefined {
  const time = parseTime(text)
  if (time === undefined || time.hasZone) return undefined
  return `${name} ${text} is read in UTC, as ${time.instant}; write an offset such as +08:00 for another zone.`
}

/** Defines a flag that takes a date or time; its value is RFC 3339. */
export const instant = (summary: string): Flag<string | undefined> => ({
  ...one('TIME', summary, (text) => {
    const time = parseTime(text)
    return time === undefined ? { ok: false, message: TIME_RULE } : { ok: true, value: time.instant }
  }),
  remark: zoneNotice,
})
