// voucherctl/testing: the server inside a test. Loads everything else with the first start.
import type { StartServer } from './types.js'

export const startServer: StartServer = async (options = {}) => {
  const { startTestServer } = await import('./test-server.js')
  return startTestServer(options)
}
