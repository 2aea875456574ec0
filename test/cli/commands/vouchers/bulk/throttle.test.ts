import { setMaxListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Pace } from '../../../../../src/cli/commands/vouchers/bulk/throttle.js'

beforeEach(() => void vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

const never = new AbortController().signal
setMaxListeners(0, never)
/** Lets what was woken go on. */
const settle = () => vi.advanceTimersByTimeAsync(0)

/** Enters as often as it is let in, at most so often. */
function crowd(pace: Pace, count: number) {
  const inside = { count: 0 }
  for (let i = 0; i < count; i += 1) void pace.enter(never).then((entered) => (inside.count += entered ? 1 : 0))
  return inside
}

test('as many calls at once as it was told, and the next when one is over', async () => {
  const pace = new Pace(3, Date.now)
  const inside = crowd(pace, 10)
  await settle()
  expect(inside.count).toBe(3)
  pace.leave()
  await settle()
  expect(inside.count).toBe(4)
})

test('a 429 stops everybody for as long as the server asks, then half as many go on', async () => {
  const pace = new Pace(8, Date.now)
  const before = crowd(pace, 8)
  await settle()
  expect(before.count).toBe(8)
  for (let i = 0; i < 8; i += 1) {
    pace.slowDown(5_000)
    pace.leave()
  }
  const after = crowd(pace, 20)
  await vi.advanceTimersByTimeAsync(4_999)
  expect([after.count, pace.pauseMs]).toEqual([0, 1])
  await vi.advanceTimersByTimeAsync(1)
  expect([after.count, pace.pauseMs]).toEqual([4, 0])
})

test('answers bring the calls back one by one, up to what it was told', async () => {
  const pace = new Pace(4, Date.now)
  pace.slowDown(0)
  const inside = crowd(pace, 100)
  await settle()
  expect(inside.count).toBe(2)
  let running = 2
  for (let answers = 0; answers < 60; answers += 1) {
    pace.answered()
    pace.leave()
    await settle()
    running = inside.count - answers - 1
  }
  expect(running).toBe(4)
})

test('a server that does not say how long is waited for ever longer, up to 30 s', async () => {
  const pace = new Pace(4, Date.now)
  const pauses: number[] = []
  for (let i = 0; i < 7; i += 1) {
    pace.slowDown(null)
    pauses.push(pace.pauseMs)
    await vi.advanceTimersByTimeAsync(pace.pauseMs)
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  pace.answered()
  pace.slowDown(null)
  expect(pace.pauseMs).toBe(1_000)
})

test('a signal ends the wait at once', async () => {
  const pace = new Pace(4, Date.now)
  const stop = new AbortController()
  pace.slowDown(60_000)
  const entering = pace.enter(stop.signal)
  stop.abort()
  expect(await entering).toBe(false)
  expect(await pace.enter(stop.signal)).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})
