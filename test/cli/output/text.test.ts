import { describe, expect, test } from 'vitest'
import { parseTime } from '../../../src/cli/flags/time.js'
import { UTC } from '../../../src/cli/host/host.js'
import { distanceOf, timeInList, withTimes, wrap, wrapMessage } from '../../../src/cli/output/text.js'

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

test('withTimes formats every instant in UTC in a text and nothing else', { tags: 'tables/1' }, () => {
  expect(withTimes('From 2026-11-21T10:00:00.123Z to 2026-11-22T10:00:00Z, not 2026-11-22T10:00:00+08:00.', UTC)).toBe(
    'From 2026-11-21 10:00:00Z to 2026-11-22 10:00:00Z, not 2026-11-22T10:00:00+08:00.',
  )
})

test.each([
  [480, '2026-11-22T17:30:05.999Z', '2026-11-23 01:30:05+08:00'],
  [-210, '2026-11-22T02:30:05Z', '2026-11-21 23:00:05-03:30'],
  [0, '2026-11-22T02:30:05Z', '2026-11-22 02:30:05Z'],
  [60, '9999-12-31T23:30:00Z', '9999-12-31 23:30:00Z'],
  [-60, '2026-13-45T10:00:00Z', '2026-13-45 10:00:00Z'],
])('withTimes in a zone %i minutes ahead of UTC shows %s as %s', { tags: 'tables/1' }, (minutes, instant, shown) => {
  expect(withTimes(instant, () => minutes)).toBe(shown)
  if (shown !== instant.replace('T', ' ') || minutes === 0)
    expect(Date.parse(parseTime(shown)?.instant ?? '')).toBe(Math.floor(Date.parse(instant) / 1000) * 1000)
})

test('withTimes leaves the time of a suggested command as it is', { tags: 'tables/1' }, () => {
  const text = 'To go there: `voucherctl platform clock set 2026-11-21T10:00:00.123Z`'
  expect(withTimes(text, () => 480)).toBe(text)
})

test('timeInList leaves a text that is not an instant as it is', () => {
  expect([timeInList('soon', { now, zone: UTC }), timeInList('2026-11-21T09:00:00.000Z', { now, zone: UTC })]).toEqual([
    'soon',
    '2026-11-21 09:00:00Z (1h ago)',
  ])
})

test('wrap() keeps a suggested command on one line if it fits, and never breaks a word', () => {
  expect(wrap('Run `voucherctl apps list` now', 24)).toEqual(['Run', '`voucherctl apps list`', 'now'])
  expect(wrap('See https://shop.example/a/long/path', 12)).toEqual(['See', 'https://shop.example/a/long/path'])
})

describe('wrapMessage', () => {
  test('wrapMessage() breaks lines at spaces and indents the rest like the first text', () => {
    expect(wrapMessage('hint: one two three\n  four five six\nshort\n', 13)).toBe(
      'hint: one two\n      three\n  four five\n  six\nshort\n',
    )
  })

  test('wrapMessage() keeps a suggested command and a long word on one line', () => {
    expect(wrapMessage('Run `voucherctl apps list`. https://shop.example/long yes', 12)).toBe(
      'Run\n`voucherctl apps list`.\nhttps://shop.example/long\nyes',
    )
  })

  test('wrapMessage() ignores colours when it measures a line', () => {
    const coloured = '\u001b[31merror:\u001b[39m one two'
    expect(wrapMessage(coloured, 14)).toBe(coloured)
    expect(wrapMessage(coloured, 13)).toBe('\u001b[31merror:\u001b[39m one\n       two')
  })

  // With quadratic time this text would take minutes.
  test('wrapMessage() takes linear time for a megabyte of words and backticks', () => {
    const lines = wrapMessage(' `a` b'.repeat(160_000), 80).split('\n')
    expect(lines.every((it) => it.length <= 80)).toBe(true)
    expect(lines.length).toBeGreaterThan(10_000)
  })
})
