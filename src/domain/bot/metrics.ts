import type { BotMetrics } from '../../contract/bots.js'
import { DAY_MS } from '../time.js'

/** How far back the metrics of a bot look (DECISIONS.md#bot-metrics). */
export const METRICS_MS = DAY_MS

/** Percentiles of durations are those of so many attempts at most, the latest ones. */
export const TIMED_ATTEMPTS_MAX = 10_000

/** Minutes since the epoch: calls are counted by them. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / 60_000)
}

/** How many calls were answered so. */
export interface CallCount {
  /** What follows /api/v1/bots/ in the path, such as sendMessage. */
  readonly method: string
  readonly status: number
  /** Of the failure; empty for a success. */
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

/** Where the percentile stands among `n` sorted values, from 0: the smallest that as many of a hundred do not exceed. */
export function percentileOffset(n: number, percent: number): number {
  return Math.max(0, Math.ceil((n * percent) / 100) - 1)
}
