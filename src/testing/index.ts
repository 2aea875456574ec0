// voucherctl/testing: the server inside a test. Loads everything else with the first start.
import * as timersPromises from 'node:timers/promises'
import type { StartServer } from './types.js'

export { assertMatches, matches } from './match.js'

// Captured when a test file imports the library: the first start may come after vi.useFakeTimers().
const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, queueMicrotask } =
  globalThis
const { Date } = globalThis
const { nextTick } = globalThis.process
const performance = { now: globalThis.performance.now.bind(globalThis.performance) }
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
