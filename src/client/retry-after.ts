const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * Converts the Retry-After header (RFC 9110, 10.2.3: seconds or a date) to milliseconds; null if it is absent or
 * invalid. A date is compared with the Date header of the response if present, so that a wrong clock does not matter.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: () => number): number | null {
  const value = headers['retry-after']
  if (value === undefined) return null
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000
  if (!httpDate.test(value)) return null
  const sent = headers.date !== undefined && httpDate.test(headers.date) ? Date.parse(headers.date) : now()
  const delay = Date.parse(value) - sent
  return Number.isNaN(delay) ? null : Math.max(0, delay)
}
