/** Buckets for each factor of ten, so that the limits of a bucket differ by 5 %. */
const PER_DECADE = 48
const SHORTEST_MS = 0.001

/** Calls by latency. The limits of the buckets are the same in every run, so that two runs can be compared. */
export class Buckets {
  readonly #calls = new Map<number, number>()
  #count = 0

  add(latencyMs: number): void {
    const bucket = Math.ceil(Math.log10(Math.max(latencyMs, SHORTEST_MS)) * PER_DECADE)
    this.#calls.set(bucket, (this.#calls.get(bucket) ?? 0) + 1)
    this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  /** Buckets that have calls, the shortest latency first; a call took at most `up_to_ms`. */
  get rows(): readonly { readonly up_to_ms: number; readonly calls: number }[] {
    return [...this.#calls]
      .sort(([one], [other]) => one - other)
      .map(([bucket, calls]) => ({ up_to_ms: Number((10 ** (bucket / PER_DECADE)).toPrecision(4)), calls }))
  }

  /** Limit of the bucket that holds this percentile; null without a call. */
  percentileMs(percent: number): number | null {
    let left = Math.ceil((this.#count * percent) / 100)
    const row = this.rows.find(({ calls }) => {
      left -= calls
      return left <= 0
    })
    return row?.up_to_ms ?? null
  }
}

/** Counts and latencies of the calls that were due in one second of the measured time. */
export type SecondReport = Series['rows'][number]

/** Calls by the second in which they were due. */
export class Series {
  readonly #seconds = new Map<number, { readonly latencies: Buckets; failed: number }>()

  /** @param dueMs time from the end of the warm-up @param latencyMs undefined for a failed call */
  add(dueMs: number, latencyMs: number | undefined): void {
    const second = Math.floor(dueMs / 1000)
    const counts = this.#seconds.get(second) ?? { latencies: new Buckets(), failed: 0 }
    this.#seconds.set(second, counts)
    if (latencyMs === undefined) counts.failed += 1
    else counts.latencies.add(latencyMs)
  }

  /** Seconds in which calls were due, in their order. Latencies are at most 5 % too high. */
  get rows() {
    return [...this.#seconds]
      .sort(([one], [other]) => one - other)
      .map(([second, { latencies, failed }]) => ({
        second,
        calls: latencies.count + failed,
        succeeded: latencies.count,
        failed,
        p50_ms: latencies.percentileMs(50),
        p99_ms: latencies.percentileMs(99),
      }))
  }
}
