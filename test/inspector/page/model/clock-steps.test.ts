import { describe, expect, test } from 'vitest'
import { sentenceOf, stepOf, steps } from '../../../../src/inspector/page/model/clock-steps.js'

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
  test('clock steps begin now, grow, and end after a year', () => {
    expect(steps[0]).toBe(0)
    expect(steps).toEqual([...new Set(steps)].sort((one, other) => one - other))
    expect(steps.at(-1)).toBe(365 * 86_400)
  })

  test('have a position for each distance, the last one beyond the end', () => {
    for (const [index, seconds] of steps.entries()) expect(stepOf(seconds)).toBe(index)
    expect(stepOf(61)).toBe(2)
    expect(stepOf(1e12)).toBe(steps.length - 1)
  })
})

describe('sentence of a forecast', () => {
  test('counts each kind of event, in the singular for one', () => {
    const sentence = sentenceOf({ ...forecast, deliveries_due: 3, vouchers_expiring: 1200, tokens_expiring: 1 })
    expect(sentence).toBe('3 deliveries fall due, 1,200 vouchers expire, 1 token expires.')
  })

  test('says that nothing happens', () => {
    expect(sentenceOf(forecast)).toBe('Nothing happens.')
  })

  test('says if there is more than was counted', () => {
    expect(sentenceOf({ ...forecast, vouchers_expiring: 5, complete: false })).toBe(
      '5 vouchers expire, and perhaps more.',
    )
  })
})
