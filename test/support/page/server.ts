import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import type { Client } from '../../../src/client/index.js'
import { TestClock } from '../../../src/server/clock.js'
import { Activity } from '../../../src/server/observe/activity.js'
import { verifyWebhook } from '../../../src/webhook/signature.js'
import { type CliServer, cliServer } from '../cli/server.js'
import { chunksOf } from '../server/request-body.js'

/** Text of a sender that must never become markup. */
export const HOSTILE = '<script>window.hostile=1</script><img src=x onerror="window.hostile=1">'

export interface WebhookApp {
  readonly url: string
  readonly bodies: Buffer[]
  /** Secret with which it verifies deliveries; it responds with 401 to others. */
  secret: string
}

/** A server whose page a browser opens, with a bot that delivers to an application. */
export interface PageServer extends CliServer {
  readonly app: WebhookApp
}

export const WEBHOOK_SECRET = 'a-secret-of-the-page-tests'

async function startApp() {
  const state = { bodies: [] as Buffer[], secret: WEBHOOK_SECRET }
  const server = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    const rawBody = Buffer.concat(chunks)
    state.bodies.push(rawBody)
    const { ok } = verifyWebhook({ headers: request.headersDistinct, rawBody, secrets: [state.secret] })
    response.writeHead(ok ? 200 : 401, { 'Content-Type': 'text/html', 'X-Hostile': HOSTILE })
    response.end(ok ? HOSTILE : 'unknown signature')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { app: Object.assign(state, { url: `http://127.0.0.1:${port}/hook` }), close }
}

export async function pageServer(): Promise<PageServer> {
  const { app, close: closeApp } = await startApp()
  const clock = new TestClock()
  // Takes no time for bodies: a busy machine would leave them out of the stream.
  const activity = new Activity({ now: () => clock.now(), cpuMs: () => 0, inspect: true })
  const server = await cliServer({}, { clock, parts: { activity } })
  const set = await server.client.webhook.set({ botId: 'bot_shop', url: app.url, secret_token: WEBHOOK_SECRET })
  if (!set.ok) throw new Error(set.code)
  const close = async () => {
    await server.close()
    await closeApp()
  }
  return { ...server, app, close }
}

/** Starts a page server for the tests of a file, and closes it after them. */
export function usePageServer(): PageServer {
  const server = {} as PageServer
  beforeAll(async () => void Object.assign(server, await pageServer()))
  afterAll(() => server.close())
  return server
}

/** Creates a link that opens the page once. */
export async function newLink({ platform }: Client): Promise<string> {
  const opened = await platform.openPage({})
  if (!opened.ok) throw new Error(opened.code)
  return opened.data.url
}
