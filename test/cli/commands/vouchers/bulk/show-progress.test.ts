import { expect, test } from 'vitest'
import { inWords, progressLine } from '../../../../../src/cli/commands/vouchers/bulk/show-progress.js'

const counters = { total: 10_000, issued: 4_000, replayed: 100, skipped: 50, failed: 3 }

test('the progress line shows rows done, total, bar, percentage, rate, time left and failures', () => {
  expect(progressLine({ counters, perSecond: 1000, pauseMs: 0 }, 100)).toBe(
    `4,153 of 10,000 rows  ${'█'.repeat(12)}${'░'.repeat(18)}  41 %  1,000/s  6 s left  3 failed`,
  )
})

test('the progress line for rows from a pipe shows no total, percentage or time left', () => {
  expect(progressLine({ counters: { ...counters, total: null, failed: 0 }, perSecond: 10, pauseMs: 0 }, 100)).toBe(
    '4,150 rows  10/s',
  )
})

test('the progress line shows the pause that the server asks for instead of the rate', () => {
  expect(progressLine({ counters, perSecond: 0, pauseMs: 57_001 }, 100)).toContain('the server asks to wait 58 s')
})

test.each([1, 20, 40, 59, 79, 200])('the progress line is not longer than a terminal of %i columns', (columns) => {
  for (const perSecond of [0, 0.5, 123_456]) {
    const line = progressLine({ counters: { ...counters, total: 1_000_000 }, perSecond, pauseMs: 0 }, columns)
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
