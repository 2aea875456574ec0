import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatInstant, parseInstant } from '../../src/domain/time.js'

fc.configureGlobal({ seed: 1 })

const FIRST = Date.parse('0001-01-01T00:00:00.000Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')
const instant = fc.integer({ min: FIRST, max: LAST })

describe('instants', () => {
  it('instant is formatted in UTC with milliseconds', { tags: 'times/2' }, () => {
    expect(formatInstant(0)).toBe('1970-01-01T00:00:00.000Z')
    expect(formatInstant(FIRST)).toBe('0001-01-01T00:00:00.000Z')
    expect(formatInstant(LAST)).toBe('9999-12-31T23:59:59.999Z')
    fc.assert(
      fc.property(instant, (ms) => {
        expect(formatInstant(ms)).toBe(new Date(ms).toISOString())
      }),
    )
  })

  it('instant beyond year 9999 is formatted with the expanded year of ISO 8601', () => {
    expect(formatInstant(LAST + 1)).toBe('+010000-01-01T00:00:00.000Z')
  })

  it('instant before year 0 is formatted with the expanded year of ISO 8601', () => {
    expect(formatInstant(Date.parse('-000001-12-31T00:00:00.000Z'))).toBe('-000001-12-31T00:00:00.000Z')
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1])(
    'formatInstant throws a RangeError for the time %d',
    (ms) => {
      expect(() => formatInstant(ms)).toThrow(RangeError)
    },
  )

  it('formatted instant parses to the same instant', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        expect(parseInstant(formatInstant(ms))).toBe(ms)
      }),
    )
  })

  it('instant written with any UTC offset parses to the same time', () => {
    const offset = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 })
    const inner = fc.integer({ min: FIRST + 86_400_000, max: LAST - 86_400_000 })
    fc.assert(
      fc.property(inner, offset, (ms, minutes) => {
        const local = formatInstant(ms + minutes * 60_000).slice(0, -1)
        const size = Math.abs(minutes)
        const two = (value: number) => String(value).padStart(2, '0')
        const suffix = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
        expect(parseInstant(local + suffix)).toBe(ms)
      }),
    )
  })

  it.each([
    ['2027-01-31T00:00:00Z', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T00:00:00.5Z', '2027-01-31T00:00:00.500Z'],
    ['2027-01-31T00:00:00.123999999Z', '2027-01-31T00:00:00.123Z'],
    ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
    ['2027-01-31T08:00:00+08:00', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T00:00:00-23:59', '2027-01-31T23:59:00.000Z'],
    ['2027-01-31T00:00:00-00:00', '2027-01-31T00:00:00.000Z'],
    ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00.000Z'],
    ['2000-02-29T12:00:00Z', '2000-02-29T12:00:00.000Z'],
    ['0099-03-01T00:00:00Z', '0099-03-01T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('instant %s parses to the UTC time %s', (input, expected) => {
    const ms = parseInstant(input)
    expect(ms === null ? null : new Date(ms).toISOString()).toBe(expected)
  })

  it.each([
    '2027-02-30T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2027-04-31T00:00:00Z',
    '2027-00-01T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-00T00:00:00Z',
    '2027-01-32T00:00:00Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T25:00:00Z',
    '2027-01-31T00:60:00Z',
    '2016-12-31T23:59:60Z',
    '2027-01-31T00:00:00+24:00',
    '2027-01-31T00:00:00+00:60',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
  ])('instant %s is rejected because it does not exist', (input) => {
    expect(parseInstant(input)).toBeNull()
  })

  it.each([
    '',
    '2027-01-31',
    '2027-01-31T00:00:00',
    '2027-01-31T00:00Z',
    '2027-01-31 00:00:00Z',
    '2027-01-31t00:00:00z',
    '2027-01-31T00:00:00.Z',
    '2027-01-31T00:00:00+0800',
    '2027-01-31T00:00:00+8:00',
    '+002027-01-31T00:00:00Z',
    ' 2027-01-31T00:00:00Z',
    '2027-01-31T00:00:00Z\n',
    '٢٠٢٧-01-31T00:00:00Z',
    '1801353600000',
  ])('instant %j is rejected because its format is not RFC 3339', { tags: 'times/2' }, (input) => {
    expect(parseInstant(input)).toBeNull()
  })
})
