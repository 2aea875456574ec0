import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CallCount, callMetrics, minuteOf, percentileOffset } from '../../../src/domain/bot/metrics.js'

fc.configureGlobal({ seed: 1 })

describe('call counts', () => {
  const count: fc.Arbitrary<CallCount> = fc.record({
    method: fc.constantFrom('sendMessage', 'getUpdates', 'vouchers/issue'),
    status: fc.constantFrom(200, 201, 403, 409, 429),
    code: fc.constantFrom('', 'BOT_BLOCKED', 'RATE_LIMITED'),
    calls: fc.integer({ min: 1, max: 1_000 }),
  })
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((one, other) => one + other, 0)

  it('totals of bot calls and errors equal the sums of their counts by method, status and code', () => {
    fc.assert(
      fc.property(fc.array(count), (counts) => {
        const { calls, errors } = callMetrics(counts)
        expect(sum(calls.by_method)).toBe(calls.total)
        expect([sum(errors.by_status), sum(errors.by_code)]).toEqual([errors.total, errors.total])
        const of = (failed: boolean) =>
          counts.filter((it) => it.status >= 400 === failed).reduce((total, it) => total + it.calls, 0)
        expect([calls.total, errors.total]).toEqual([of(false) + of(true), of(true)])
      }),
    )
  })

  it('bot call metrics count by method, HTTP status and failure code', () => {
    expect(
      callMetrics([
        { method: 'sendMessage', status: 200, code: '', calls: 3 },
        { method: 'sendMessage', status: 403, code: 'BOT_BLOCKED', calls: 2 },
        { method: 'getUpdates', status: 400, code: 'INVALID_REQUEST', calls: 1 },
      ]),
    ).toEqual({
      calls: { total: 6, by_method: { sendMessage: 5, getUpdates: 1 } },
      errors: { total: 3, by_status: { 400: 1, 403: 2 }, by_code: { BOT_BLOCKED: 2, INVALID_REQUEST: 1 } },
    })
    expect(callMetrics([])).toEqual({
      calls: { total: 0, by_method: {} },
      errors: { total: 0, by_status: {}, by_code: {} },
    })
  })
})

it('minute of a time counts whole minutes since the epoch', () => {
  expect([0, 59_999, 60_000].map(minuteOf)).toEqual([0, 0, 1])
})

describe('percentiles', () => {
  it('percentile p is the smallest value that at least p percent of the values do not exceed', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 1 }), fc.integer({ min: 1, max: 100 }), (values, percent) => {
        const sorted = values.toSorted((one, other) => one - other)
        const found = sorted[percentileOffset(values.length, percent)] as number
        const share = (limit: number) => (100 * values.filter((it) => it <= limit).length) / values.length
        expect(share(found)).toBeGreaterThanOrEqual(percent)
        expect(share(found - 1)).toBeLessThan(percent)
      }),
    )
  })
})
