import type { BotMetrics } from '../../contract/bots.js'
import { DAY_MS } from '../../values/duration.js'

/** Period that the metrics of a bot cover (rules/bots.md#bot-metrics). */
export const METRICS_MS = DAY_MS

/** Maximum number of latest attempts from which percentiles are computed, to bound the cost. */
export const TIMED_ATTEMPTS_MAX = 1_000

/** Returns minutes since the epoch, by which call counters are stored. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / 60_000)
}

/** Number of API calls of a bot with the same method, status and code. */
export interface CallCount {
  /** Path after /api/v1/bots/, such as sendMessage. */
  readonly method: string
  readonly status: number
  /** Failure code; empty for a success. */
  readonly code: string
  readonly calls: number
}

export function callMetrics(counts: readonly CallCount[]): Pick<BotMetrics, 'calls' | 'errors'> {
  const errors = counts.filter(({ status }) => status >= 400)
  return {
    calls: { total: sum(counts), by_method: sumBy(counts, ({ method }) => method) },
    errors: {
      total: sum(errors),
      by_status: sumBy(errors, ({ status }) => String(status)),
      by_code: sumBy(errors, ({ code }) => code),
    },
  }
}

function sum(counts: readonly CallCount[]): number {
  return counts.reduce((total, { calls }) => total + Number(calls), 0)
}

function sumBy(counts: readonly CallCount[], nameOf: (count: CallCount) => string): Record<string, number> {
  const sums = new Map<string, number>()
  for (const count of counts) sums.set(nameOf(count), (sums.get(nameOf(count)) ?? 0) + Number(count.calls))
  return Object.fromEntries(sums)
}

/** Zero-based index of a nearest-rank percentile among `n` sorted values. */
export function percentileOffset(n: number, percent: number): number {
  return Math.max(0, Math.ceil((n * percent) / 100) - 1)
}
