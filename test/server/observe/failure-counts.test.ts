import { expect, it } from 'vitest'
import { FailureCounts, hourBefore } from '../../../src/server/observe/failure-counts.js'

const MINUTE_MS = 60_000
const failed = (code: string | null, status: number) => ({ code, status })

it('failure counts are by code and status, and only of the last 60 minutes', () => {
  let now = 1_000 * MINUTE_MS
  const counts = new FailureCounts(() => now)
  counts.add(failed('VOUCHER_EXPIRED', 409))
  now += 30 * MINUTE_MS
  counts.add(failed('VOUCHER_EXPIRED', 409))
  counts.add(failed(null, 404))
  expect(counts.list()).toEqual({
    since: 1_000 * MINUTE_MS,
    items: [
      { code: 'VOUCHER_EXPIRED', status: 409, count: 2 },
      { code: null, status: 404, count: 1 },
    ],
  })
  now += 30 * MINUTE_MS
  expect(counts.list()).toMatchObject({ since: hourBefore(now), items: [{ count: 1 }, { count: 1 }] })
  now += 60 * MINUTE_MS
  expect(counts.list().items).toEqual([])
})

it('failure counts begin anew after a reset, also when it sets the clock back', () => {
  let now = 1_000 * MINUTE_MS
  const counts = new FailureCounts(() => now)
  counts.add(failed('VOUCHER_EXPIRED', 409))
  counts.clear()
  counts.add(failed('RATE_LIMITED', 429))
  now -= 500 * MINUTE_MS
  expect(counts.list()).toEqual({ since: 500 * MINUTE_MS, items: [] })
})
