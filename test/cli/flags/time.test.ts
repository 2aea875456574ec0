import { expect, test } from 'vitest'
import { parseTime, zoneNotice } from '../../../src/cli/flags/time.js'

test.each([
  ['2027-01-31', '2027-01-31T00:00:00Z', false],
  ['2027-01-31 18:00', '2027-01-31T18:00:00Z', false],
  ['2027-01-31 18:00:05Z', '2027-01-31T18:00:05Z', true],
  ['2027-01-31T18:00:00+08:00', '2027-01-31T18:00:00+08:00', true],
])('parseTime reads %s as %s', { tags: 'typed-times/1' }, (text, instant, hasZone) => {
  expect(parseTime(text)).toEqual({ instant, hasZone })
})

test.each([
  ['2027-01-31', '2027-02-01T00:00:00Z'],
  ['2028-02-28', '2028-02-29T00:00:00Z'],
  ['2027-12-31', '2028-01-01T00:00:00Z'],
  ['9999-12-31', '9999-12-31T00:00:00Z'],
  ['2027-01-31 00:00', '2027-01-31T00:00:00Z'],
  ['2027-01-31T18:00:00+08:00', '2027-01-31T18:00:00+08:00'],
])('parseTime reads %s as the end %s', { tags: 'typed-times/1' }, (text, instant) => {
  expect(parseTime(text, true)).toMatchObject({ instant })
})

test.each(['2027-02-31', '2027-13-01', '31.01.2027', 'soon', '2027-01-31T25:00', ''])(
  'parseTime refuses "%s"',
  (text) => {
    expect(parseTime(text)).toBeUndefined()
  },
)

test('zoneNotice names the zone of a time that has none', { tags: 'typed-times/1' }, () => {
  expect(zoneNotice('--valid-from', '2027-01-31')).toContain('--valid-from 2027-01-31 is read in UTC, as 2027-01-31T00')
  expect(zoneNotice('--valid-from', '2027-01-31T00:00:00Z')).toBeUndefined()
})
