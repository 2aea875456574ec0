import { expect, test } from 'vitest'
import { Buckets, Series } from '../../../src/cli/load/series.js'

test('latency buckets have the same limits in every run, at most 5 % apart', () => {
  const buckets = new Buckets()
  for (const ms of [0, 1, 1.01, 1.04, 100, 100]) buckets.add(ms)
  expect(buckets.rows).toEqual([
    { up_to_ms: 0.001, calls: 1 },
    { up_to_ms: 1, calls: 1 },
    { up_to_ms: 1.049, calls: 2 },
    { up_to_ms: 100, calls: 2 },
  ])
})

test('percentile of latency buckets is the limit of a bucket, at most 5 % too high', () => {
  const buckets = new Buckets()
  expect(buckets.percentileMs(50)).toBeNull()
  for (let i = 1; i <= 1_000; i += 1) buckets.add(i)
  for (const percent of [1, 50, 99, 100]) {
    const ratio = (buckets.percentileMs(percent) ?? 0) / (percent * 10)
    expect(ratio).toBeGreaterThanOrEqual(0.9999)
    expect(ratio).toBeLessThan(1.05)
  }
})

test('series of a load counts calls in the second in which they were due', () => {
  const series = new Series()
  series.add(2_000, undefined)
  series.add(999.9, 1_500)
  series.add(0, 10)
  series.add(1, undefined)
  expect(series.rows).toEqual([
    { second: 0, calls: 3, succeeded: 2, failed: 1, p50_ms: 10, p99_ms: 1_540 },
    { second: 2, calls: 1, succeeded: 0, failed: 1, p50_ms: null, p99_ms: null },
  ])
})
