import { setMaxListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Throttle } from '../../../src/cli/bulk/throttle.js'

beforeEach(() => void vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

const never = new AbortController().signal
setMaxListeners(0, never)
/** Lets pending promise callbacks run. */
const settle = () => vi.advanceTimersByTimeAsync(0)

/** Starts `count` API calls that wait in `enter`; counts those that the throttle admitted. */
function startCalls(throttle: Throttle, count: number) {
  const inside = { count: 0 }
  for (let i = 0; i < count; i += 1) void throttle.enter(never).then((entered) => (inside.count += entered ? 1 : 0))
  return inside
}

test('the throttle admits its maximum of API calls and one more after each call that ends', async () => {
  const throttle = new Throttle(3, Date.now)
  const inside = startCalls(throttle, 10)
  await settle()
  expect(inside.count).toBe(3)
  throttle.leave()
  await settle()
  expect(inside.count).toBe(4)
})

test('Throttle.slowDown() stops calls for a time, then halves the limit', { tags: 'bulk-commands/7' }, async () => {
  const throttle = new Throttle(8, Date.now)
  const before = startCalls(throttle, 8)
  await settle()
  expect(before.count).toBe(8)
  for (let i = 0; i < 8; i += 1) {
    throttle.slowDown(5_000)
    throttle.leave()
  }
  const after = startCalls(throttle, 20)
  await vi.advanceTimersByTimeAsync(4_999)
  expect([after.count, throttle.pauseMs]).toEqual([0, 1])
  await vi.advanceTimersByTimeAsync(1)
  expect([after.count, throttle.pauseMs]).toEqual([4, 0])
})

test('the throttle raises the concurrency with each response after slowDown(), to its maximum', async () => {
  const throttle = new Throttle(4, Date.now)
  throttle.slowDown(0)
  const inside = startCalls(throttle, 100)
  await settle()
  expect(inside.count).toBe(2)
  let running = 2
  for (let responses = 0; responses < 60; responses += 1) {
    throttle.countResponse()
    throttle.leave()
    await settle()
    running = inside.count - responses - 1
  }
  expect(running).toBe(4)
})

test('Throttle.slowDown() without a time doubles the last pause, up to 30 s', { tags: 'bulk-commands/7' }, async () => {
  const throttle = new Throttle(4, Date.now)
  const pauses: number[] = []
  for (let i = 0; i < 7; i += 1) {
    throttle.slowDown(null)
    pauses.push(throttle.pauseMs)
    await vi.advanceTimersByTimeAsync(throttle.pauseMs)
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  throttle.countResponse()
  throttle.slowDown(null)
  expect(throttle.pauseMs).toBe(1_000)
})

test('an abort immediately ends the wait of a call for the throttle', async () => {
  const throttle = new Throttle(4, Date.now)
  const stop = new AbortController()
  throttle.slowDown(60_000)
  const entering = throttle.enter(stop.signal)
  stop.abort()
  expect(await entering).toBe(false)
  expect(await throttle.enter(stop.signal)).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})
