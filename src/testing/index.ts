// voucherctl/testing: the server inside a test. Loads everything else with the first start.
import * as ofNode from 'node:timers'
import * as timersPromises from 'node:timers/promises'
import type { StartServer } from './types.js'

export { assertMatches, matches } from './match.js'

// Captured when a test file imports the library: the first start may come after vi.useFakeTimers().
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = ofNode
const { Date, queueMicrotask = (task: () => void) => void Promise.resolve().then(task) } = globalThis
const { nextTick, hrtime } = globalThis.process
const performance = { now: () => Number(hrtime.bigint()) / 1e6 }
const timers = {
  ...{ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate },
  ...{ queueMicrotask, nextTick, performance, Date },
}
const promises = { ...timersPromises }

export const startServer: StartServer = async (options = {}) => {
  const { useRealTimers } = await import('./real-timers.js')
  useRealTimers(timers, promises)
  const { startTestServer } = await import('./test-server.js')
  return startTestServer(options)
}
