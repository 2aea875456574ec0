import { expect, test } from 'vitest'
import { distanceOf, timeInList, withTimes } from '../../../src/cli/output/time.js'

const now = Date.parse('2026-11-21T10:00:00Z')

test.each([
  ['2026-11-21T10:00:00.400Z', 'now'],
  ['2026-11-21T09:59:15Z', '45s ago'],
  ['2026-11-21T09:00:01Z', '59m ago'],
  ['2026-11-20T10:00:01Z', '23h ago'],
  ['2026-11-26T10:00:00Z', 'in 5d'],
  ['2024-11-20T10:00:00Z', '2y ago'],
])('the distance of %s from 2026-11-21T10:00:00Z is "%s"', (instant, distance) => {
  expect(distanceOf(instant, now)).toBe(distance)
})

test('withTimes formats every instant in UTC in a text and nothing else', () => {
  expect(withTimes('From 2026-11-21T10:00:00.123Z to 2026-11-22T10:00:00Z, not 2026-11-22T10:00:00+08:00.')).toBe(
    'From 2026-11-21 10:00:00Z to 2026-11-22 10:00:00Z, not 2026-11-22T10:00:00+08:00.',
  )
})

test('timeInList leaves a text that is not an instant as it is', () => {
  expect([timeInList('soon', now), timeInList('2026-11-21T09:00:00.000Z', now)]).toEqual([
    'soon',
    '2026-11-21 09:00:00Z (1h ago)',
  ])
})
