import type { RequestLogEntry } from '../../contract/platform/activity.js'
import type { FailureCount } from '../../contract/platform/overview.js'
import { minuteOf } from '../../domain/bot/metrics.js'

/** Minutes of the last hour, including the present one. */
const MINUTES = 60
const MINUTE_MS = 60_000

/** Start of the last hour in whole minutes, ms since 1970. */
export const hourBefore = (now: number): number => (minuteOf(now) - MINUTES + 1) * MINUTE_MS

/** Counts the failed calls of the last hour by code and status, both of which the contract limits. */
export class FailureCounts {
  readonly #now: () => number
  readonly #minutes = new Map<number, Map<string, FailureCount>>()
  #since: number

  /** @param now time of the server's clock, ms since 1970 */
  constructor(now: () => number) {
    this.#now = now
    this.#since = now()
  }

  add({ code, status }: Pick<RequestLogEntry, 'code' | 'status'>): void {
    const minute = minuteOf(this.#now())
    if (!this.#minutes.has(minute)) this.#dropOthers()
    const counts = this.#minutes.get(minute) ?? new Map<string, FailureCount>()
    this.#minutes.set(minute, counts)
    addTo(counts, { code, status, count: 1 })
  }

  clear(): void {
    this.#minutes.clear()
    this.#since = this.#now()
  }

  /** Returns the counts, and the instant since which they are complete. */
  list(): { readonly since: number; readonly items: FailureCount[] } {
    this.#dropOthers()
    const counts = new Map<string, FailureCount>()
    for (const it of this.#minutes.values()) for (const one of it.values()) addTo(counts, one)
    return { since: Math.max(this.#since, hourBefore(this.#now())), items: [...counts.values()] }
  }

  /** Drops minutes outside of the last hour. A reset or restore sets the clock back only after `clear`. */
  #dropOthers(): void {
    const now = this.#now()
    this.#since = Math.min(this.#since, now)
    const first = minuteOf(hourBefore(now))
    for (const minute of this.#minutes.keys())
      if (minute < first || minute > minuteOf(now)) this.#minutes.delete(minute)
  }
}

function addTo(counts: Map<string, FailureCount>, { code, status, count }: FailureCount): void {
  const key = `${code} ${status}`
  counts.set(key, { code, status, count: count + (counts.get(key)?.count ?? 0) })
}
