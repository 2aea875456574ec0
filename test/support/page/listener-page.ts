import { rmSync } from 'node:fs'
import { Forwarder } from '../../../src/workbench/forwarding.js'
import { startListenerPage } from '../../../src/workbench/page-server/server.js'
import { temporaryFolder } from '../server/server.js'

/** Starts the page of a listener that has received nothing. */
export async function emptyListenerPage(): Promise<{ newLink(): string; close(): Promise<void> }> {
  const dir = temporaryFolder()
  const forwarder = new Forwarder()
  const page = await startListenerPage({
    dir,
    address: 'http://127.0.0.1:1',
    secrets: [],
    forwarder,
    inbox: { recordResponse: async () => {} },
    appOf: async () => undefined,
    now: Date.now,
  })
  return {
    newLink: () => page.newLink(),
    async close() {
      await page.close()
      forwarder.close()
      rmSync(dir, { recursive: true })
    },
  }
}
