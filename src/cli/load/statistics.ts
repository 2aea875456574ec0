import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { Buckets } from './series.js'

/** Longest latency in µs that a histogram distinguishes (one hour). */
const LONGEST_US = 3_600_000_000

/** Creates an HDR histogram for µs with three significant digits. */
const newHistogram = () => createHistogram({ lowest: 1, highest: LONGEST_US, figures: 3 })

/** Counts calls, and measures the latencies of successful calls. */
export class Statistics {
  readonly #histogram: RecordableHistogram = newHistogram()
  readonly #failures = new Map<string, number>()
  readonly buckets = new Buckets()

  addSuccess(latencyMs: number): void {
    this.buckets.add(latencyMs)
    this.#histogram.record(Math.min(LONGEST_US, Math.max(1, Math.round(latencyMs * 1000))))
  }

  addFailure(code: string, count = 1): void {
    this.#failures.set(code, (this.#failures.get(code) ?? 0) + count)
  }

  merge(other: Statistics): void {
    this.#histogram.add(other.#histogram)
    for (const [code, count] of other.#failures) this.addFailure(code, count)
  }

  get succeeded(): number {
    return this.#histogram.count
  }

  get failed(): number {
    return [...this.#failures.values()].reduce((sum, it) => sum + it, 0)
  }

  /** Failed calls by code, the most frequent first. */
  get errors(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#failures].sort(([, one], [, other]) => other - one))
  }

  /** Latency in ms that this percentage of successful calls did not exceed; null without a successful call. */
  percentileMs(percent: number): number | null {
    return this.#ms(this.#histogram.percentile(percent))
  }

  get meanMs(): number | null {
    return this.#ms(this.#histogram.mean)
  }

  get minMs(): number | null {
    return this.#ms(this.#histogram.min)
  }

  get maxMs(): number | null {
    return this.#ms(this.#histogram.max)
  }

  #ms(us: number): number | null {
    return this.#histogram.count === 0 ? null : Math.round(us) / 1000
  }
}
