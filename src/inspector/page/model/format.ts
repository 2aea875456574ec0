// Formats instants, numbers and bytes for the page. Uses no browser API, so that tests run in Node.

/** Units with their length in seconds. */
const units = Object.entries({ d: 86_400, h: 3600, min: 60, s: 1 })

/** Formats the distance of an instant from now in its largest unit: `5 s ago`, `in 3 d`. */
export function relative(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1000)
  const size = Math.abs(seconds)
  // A moment less than a whole unit is shown as one: the clock runs while somebody reads `in 31 d`.
  const [unit, length] = units.find((it) => size >= it[1] * 0.99) ?? ['s', 1]
  if (size === 0 || Number.isNaN(size)) return 'now'
  const text = `${Math.floor(size / length + 0.01)} ${unit}`
  return seconds < 0 ? `${text} ago` : `in ${text}`
}

/** Formats an instant in UTC as ISO 8601 without fraction, such as `2027-01-31 12:00:00Z`. */
export const dateTime = (at: string): string => `${at.slice(0, 19).replace('T', ' ')}Z`

export function duration(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`
  return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`
}

export const size = (bytes: number): string => (bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`)

/** Formats a number with a comma between thousands. */
export const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',')

/** Formats a number of things, such as `1 voucher`. @param name in the plural */
export const plural = (value: number, name: string): string =>
  `${count(value)} ${value === 1 ? name.replace(/ies$/, 'y').replace(/s$/, '') : name}`

export const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('')
