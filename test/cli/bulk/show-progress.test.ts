import { expect, test } from 'vitest'
import { inWords, progressLine, Speed } from '../../../src/cli/bulk/show-progress.js'

const counters = { total: 10_000, earlier: 50, done: 4_000, replayed: 100, skipped: 50, failed: 3 }

test('the progress line shows rows done, total, bar, percentage, rate, time left and failures', () => {
  expect(progressLine({ counters, perSecond: 1000, estimated: 1000, pauseMs: 0 }, 100)).toBe(
    `4,153 of 10,000 rows  ${'█'.repeat(12)}${'░'.repeat(18)}  41 %  1,000/s  6 s left  3 failed`,
  )
})

test('the progress line for rows from a pipe shows no total, percentage or time left', () => {
  expect(
    progressLine({ counters: { ...counters, total: null, failed: 0 }, perSecond: 10, estimated: 10, pauseMs: 0 }, 100),
  ).toBe('4,150 rows  10/s')
})

test('the progress line shows the pause that the server asks for instead of the rate', () => {
  expect(progressLine({ counters, perSecond: 0, estimated: 0, pauseMs: 57_001 }, 100)).toContain(
    'the server asks to wait 58 s',
  )
})

/** The estimates of a run whose responses arrive at these times in ms. */
function estimatesAt(times: readonly (readonly [ms: number, count: number])[]) {
  let now = 0
  const speed = new Speed(() => now)
  return times.map(([ms, count]) => {
    now = ms
    return Math.round(speed.measure(count).estimated)
  })
}

test('the progress line shows no time left in the first 3 seconds after the first response', () => {
  const slowStart = [
    [200, 0],
    [2_000, 1],
    [2_200, 2],
    [4_900, 40],
    [5_000, 3_001],
  ] as const
  expect(estimatesAt(slowStart)).toEqual([0, 0, 0, 0, 1_000])
})

test('remaining time includes the pauses of a server that limits the rate', () => {
  const times = Array.from({ length: 10 }, (_, n) => [
    [n * 6_000, 1 + n * 600] as const,
    [n * 6_000 + 500, (n + 1) * 600] as const,
  ])
  const estimates = estimatesAt(times.flat()).slice(2)
  for (const estimate of estimates) expect([estimate > 85, estimate < 215]).toEqual([true, true])
})

test('remaining time of a resumed run excludes rows of earlier runs', () => {
  const resumed = { total: 1_000_000, earlier: 999_000, done: 0, replayed: 0, skipped: 10, failed: 0 }
  expect(progressLine({ counters: resumed, perSecond: 100, estimated: 100, pauseMs: 0 }, 100)).toContain('  10 s left')
})

test.each([1, 20, 40, 59, 79, 200])('the progress line is not longer than a terminal of %i columns', (columns) => {
  for (const perSecond of [0, 0.5, 123_456]) {
    const line = progressLine(
      { counters: { ...counters, total: 1_000_000 }, perSecond, estimated: perSecond, pauseMs: 0 },
      columns,
    )
    expect(line.length).toBeLessThanOrEqual(columns)
  }
})

test.each([
  [1, '1 s'],
  [59_000, '59 s'],
  [59_001, '1 min 0 s'],
  [3_599_000, '59 min 59 s'],
  [7_500_000, '2 h 5 min'],
])('the progress line prints a duration of %i ms as %s', (ms, words) => {
  expect(inWords(ms)).toBe(words)
})
