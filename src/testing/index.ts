// voucherctl/testing: the server inside a test. Loads everything else with the first start.
// Timers are captured when a test file imports the library: the first start may come after vi.useFakeTimers().
import '../files/timers.js'
import '../files/timers-promises.js'
import type { Prove, StartServer } from './types.js'

export { assertMatches, matches } from './match.js'

export const startServer: StartServer = async (options = {}) => {
  const { startTestServer } = await import('./test-server.js')
  return startTestServer(options)
}

export const prove: Prove = async (options) => {
  const { proveFunctions } = await import('./prove.js')
  return proveFunctions(options)
}
