import { expect, test } from 'vitest'
import { callCount, dueCalls, type Schedule, shapes, totalsOf } from '../../../src/cli/load/schedule.js'
import { seededRandom } from '../../../src/values/seeded-random.js'

const mix = { issue: 30, verify: 50, redeem: 20 }
const scheduleOf = (changes: Partial<Schedule> = {}): Schedule => ({
  ...{ shape: 'steady', rate: 100, durationMs: 10_000, mix, seed: 1 },
  ...changes,
})
const dueTimes = (changes?: Partial<Schedule>) => [...dueCalls(scheduleOf(changes))].map((it) => it.dueMs)

/** Number of calls due in each second. */
const perSecond = (changes?: Partial<Schedule>) => {
  const counts: number[] = []
  for (const it of dueTimes(changes)) counts[Math.floor(it / 1000)] = (counts[Math.floor(it / 1000)] ?? 0) + 1
  return counts
}

test('steady load has equal distances between calls, and starts with the first one', () => {
  expect(dueTimes({ rate: 4, durationMs: 1_000 })).toEqual([0, 250, 500, 750])
  expect(perSecond()).toEqual(Array(10).fill(100))
})

test('ramp has more calls in each second than before, and in total half of a steady load', () => {
  expect(perSecond({ shape: 'ramp' })).toEqual(
    [5, 15, 25, 35, 45, 55, 65, 75, 85, 95].map((it) => expect.closeTo(it, -0.5)),
  )
  expect(dueTimes({ shape: 'ramp' })).toHaveLength(500)
})

test('spike has a fifth of the rate, and the full rate in the middle fifth of the run', () => {
  expect(perSecond({ shape: 'spike' })).toEqual([20, 20, 20, 20, 100, 100, 20, 20, 20, 20])
})

test.each(shapes)('due times of the shape %s never decrease and end before the duration', (shape) => {
  for (const [rate, durationMs] of [
    [1, 1],
    [3, 1_000],
    [7, 12_345],
    [100_000, 1],
    [999, 777],
  ] as const) {
    const times = dueTimes({ shape, rate, durationMs })
    expect(times[0]).toBe(0)
    expect(times).toEqual([...times].sort((one, other) => one - other))
    expect(times.at(-1)).toBeLessThan(durationMs)
    expect(Math.abs(callCount({ shape, rate, durationMs }) - times.length)).toBeLessThanOrEqual(1)
  }
})

test('every hundred calls have exactly the mix, in different orders', () => {
  const calls = [...dueCalls(scheduleOf())].map((it) => it.operation)
  const hundreds = [calls.slice(0, 100), calls.slice(100, 200)]
  for (const hundred of hundreds) {
    for (const [operation, share] of Object.entries(mix)) {
      expect(hundred.filter((it) => it === operation)).toHaveLength(share)
    }
  }
  expect(hundreds[0]).not.toEqual(hundreds[1])
})

test('the same seed repeats the order of operations, another seed changes it', () => {
  const orderOf = (seed: number) => [...dueCalls(scheduleOf({ seed }))].map((it) => it.operation)
  expect(orderOf(7)).toEqual(orderOf(7))
  expect(orderOf(7)).not.toEqual(orderOf(8))
})

test('seeded random numbers are spread from 0 to below 1', () => {
  const random = seededRandom(1)
  const tenths = Array(10).fill(0)
  for (let i = 0; i < 10_000; i += 1) tenths[Math.floor(random() * 10)] += 1
  expect(tenths).toHaveLength(10)
  for (const it of tenths) expect(it).toBeGreaterThan(850)
})

test('a load without issue calls issues a voucher ahead for every redeem and the trial', () => {
  const { calls, ahead } = totalsOf(scheduleOf({ mix: { issue: 0, verify: 0, redeem: 100 } }))
  expect([calls.redeem, ahead]).toEqual([1_000, 1_001])
})

test('load with more issues than redeems issues ahead only for the redeems of the first seconds', () => {
  const { calls, ahead } = totalsOf(scheduleOf({ durationMs: 60_000 }))
  expect(calls).toEqual({ issue: 1_800, verify: 3_000, redeem: 1_200 })
  expect(ahead).toBeGreaterThanOrEqual(100)
  expect(ahead).toBeLessThan(130)
})

test('vouchers issued ahead suffice for every redeem if issues take less than 5 s', () => {
  const schedule = scheduleOf({ shape: 'ramp', durationMs: 30_000, mix: { issue: 40, verify: 20, redeem: 40 } })
  const calls = [...dueCalls(schedule)]
  let left = totalsOf(schedule).ahead
  let lowest = left
  let supplied = 0
  for (const { dueMs, operation } of calls) {
    for (; (calls[supplied]?.dueMs ?? 0) <= dueMs - 5_000; supplied += 1)
      left += calls[supplied]?.operation === 'issue' ? 1 : 0
    if (operation === 'redeem') left -= 1
    lowest = Math.min(lowest, left)
  }
  // The one that is left is for the trial.
  expect(lowest).toBe(1)
})

test('a load without redeems issues one voucher ahead', () => {
  expect(totalsOf(scheduleOf({ mix: { issue: 50, verify: 50, redeem: 0 } })).ahead).toBe(1)
})
