import { expect, test } from 'vitest'
import { Statistics } from '../../../src/cli/load/statistics.js'

test('percentiles of 10,000 known latencies are exact to three digits', () => {
  const statistics = new Statistics()
  for (let i = 1; i <= 10_000; i += 1) statistics.addSuccess(i / 10)
  for (const [percent, ms] of [
    [50, 500],
    [90, 900],
    [99, 990],
    [99.9, 999],
  ] as const) {
    expect(Math.abs((statistics.percentileMs(percent) ?? 0) / ms - 1)).toBeLessThan(0.001)
  }
  expect(statistics.minMs).toBe(0.1)
  expect(statistics.meanMs).toBeCloseTo(500.05, 0)
})

test('statistics without a call have null latencies instead of zero', () => {
  const { minMs, meanMs, maxMs, succeeded, failed } = new Statistics()
  expect([minMs, meanMs, maxMs, new Statistics().percentileMs(50), succeeded, failed]).toEqual([
    null,
    null,
    null,
    null,
    0,
    0,
  ])
})

test('statistics record latencies of zero, below zero and above an hour at the limits', () => {
  const statistics = new Statistics()
  for (const ms of [0, -5, 7_200_000]) statistics.addSuccess(ms)
  expect(statistics.succeeded).toBe(3)
  expect(statistics.minMs).toBe(0.001)
  expect((statistics.maxMs ?? 0) / 3_600_000).toBeCloseTo(1, 2)
})

test('merged statistics have the calls and failures of both, the most frequent failure first', () => {
  const one = new Statistics()
  one.addSuccess(1)
  one.addFailure('TIMEOUT')
  const other = new Statistics()
  other.addSuccess(3)
  other.addFailure('RATE_LIMITED', 2)
  one.merge(other)
  expect([one.succeeded, one.failed, one.minMs, one.maxMs]).toEqual([2, 3, 1, expect.closeTo(3, 2)])
  expect(Object.entries(one.errors)).toEqual([
    ['RATE_LIMITED', 2],
    ['TIMEOUT', 1],
  ])
})
