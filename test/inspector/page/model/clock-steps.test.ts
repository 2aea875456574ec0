import { describe, expect, test } from 'vitest'
import { instantIn, refusalOf, sentenceOf, stepOf, steps } from '../../../../src/inspector/page/model/clock-steps.js'

const forecast = {
  now: '2026-11-01T10:00:00.000Z',
  until: '2026-11-02T10:00:00.000Z',
  deliveries_due: 0,
  vouchers_expiring: 0,
  vouchers_becoming_valid: 0,
  tokens_expiring: 0,
  complete: true,
}

describe('steps of the slider', () => {
  test('steps of the test clock begin now, grow, and end after a year', () => {
    expect(steps[0]).toBe(0)
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other))
    expect(steps.at(-1)).toBe(365 * 86_400)
  })

  test('steps of the slider cover each distance, the last one beyond the end', () => {
    for (const [index, seconds] of steps.entries()) expect(stepOf(seconds)).toBe(index)
    expect(stepOf(61)).toBe(2)
    expect(stepOf(1e12)).toBe(steps.length - 1)
  })
})

describe('sentence of a forecast', () => {
  test('forecast counts each kind of event, in the singular for one', () => {
    const sentence = sentenceOf({ ...forecast, deliveries_due: 3, vouchers_expiring: 1200, tokens_expiring: 1 })
    expect(sentence).toBe('3 deliveries fall due, 1,200 vouchers expire, 1 token expires.')
  })

  test('forecast says if nothing happens', () => {
    expect(sentenceOf(forecast)).toBe('Nothing happens.')
  })

  test('forecast says if there is more than was counted', () => {
    expect(sentenceOf({ ...forecast, vouchers_expiring: 5, complete: false })).toBe(
      '5 vouchers expire, and perhaps more.',
    )
  })
})

describe('typed time of the clock', () => {
  test.each([
    ['2027-01-31 12:00:05Z', '2027-01-31T12:00:05.000Z'],
    [' 2027-01-31T12:00 ', '2027-01-31T12:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ])('%s is read as UTC', (text, instant) => {
    expect(instantIn(text)).toBe(Date.parse(instant))
  })

  test.each(['', 'tomorrow', '31.01.2027', '2027-02-31 12:00:00Z', '2027-01-31 25:00', '2027-01-31 12:00+02:00'])(
    '%s is refused with an example',
    (text) => {
      expect(instantIn(text)).toBeUndefined()
      expect(refusalOf(text, 0)).toBe('Write a time in UTC, such as 2027-01-31 12:00:00Z.')
    },
  )

  test('time that is not after the clock is refused', () => {
    const now = Date.parse('2027-01-31T12:00:00Z')
    expect(refusalOf('2027-01-31 12:00:00Z', now)).toBe('The clock only moves forward: choose a later time.')
    expect(refusalOf('2027-01-31 12:00:01Z', now)).toBeUndefined()
  })
})
