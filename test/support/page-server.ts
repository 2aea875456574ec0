import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Client, createClient } from '../../src/client/index.js'
import type { CredentialKind } from '../../src/contract/endpoint.js'
import type { Credential } from '../../src/contract/vouchers.js'
import { defaultSeed } from '../../src/testing/seed.js'
import { verifyWebhook } from '../../src/webhook/signature.js'
import { type LiveServer, liveServer, temporaryFolder } from './server.js'
import { codeOf, serial } from './server-tenant.js'

/** Text of a sender that must never become markup. */
export const HOSTILE = '<script>window.hostile=1</script><img src=x onerror="window.hostile=1">'

export interface WebhookApp {
  readonly url: string
  readonly bodies: Buffer[]
  /** Secret with which it verifies deliveries; it responds with 401 to others. */
  secret: string
}

/** A server whose page a browser opens, with a bot that delivers to an application. */
export interface PageServer {
  readonly baseUrl: string
  readonly client: Client
  readonly app: WebhookApp
  /** Creates a link that opens the page once. */
  link(): Promise<string>
  /** Issues a voucher; returns its id and what redeems it. */
  issue(reference?: string): Promise<{ id: string; credential: Credential }>
  /** Stops the server, and starts one with the same data on the same port. */
  restart(): Promise<void>
  close(): Promise<void>
}

export const WEBHOOK_SECRET = 'a-secret-of-the-page-tests'

async function startApp() {
  const state = { bodies: [] as Buffer[], secret: WEBHOOK_SECRET }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
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
  return { app: Object.assign(state, { url: `http://127.0.0.1:${port}/hook` }), port, close }
}

export async function pageServer(): Promise<PageServer> {
  const dataDir = temporaryFolder()
  const { app, port: appPort, close: closeApp } = await startApp()
  const options = { dataDir, seed: defaultSeed, webhookLoopbackPorts: [appPort] }
  let live: LiveServer = await liveServer(options)
  const { baseUrl, port, operatorKey } = live
  const [application] = defaultSeed.applications ?? []
  const credentials: Partial<Record<CredentialKind, string | undefined>> = {
    operator: operatorKey,
    token: application?.tokens?.[0]?.token,
    bot: defaultSeed.bots?.[0]?.token,
  }
  const client = createClient({ baseUrl, token: (kind) => credentials[kind], retry: { tries: 1 } })
  const account = await client.platform.issueAccountToken({ accountId: defaultSeed.account })
  if (!account.ok) throw new Error(account.code)
  credentials.jwt = account.data.jwt
  const set = await client.webhook.set({ botId: 'bot_shop', url: app.url, secret_token: WEBHOOK_SECRET })
  if (!set.ok) throw new Error(set.code)
  return {
    baseUrl,
    client,
    app,
    async link() {
      const opened = await client.platform.openPage({})
      if (!opened.ok) throw new Error(opened.code)
      return opened.data.url
    },
    async issue(reference = `order-${serial()}`) {
      const order = { template_id: 'tpl_coffee', external_issue_id: reference, recipient_user_id: 'user-1' }
      const issued = await client.vouchers.issue(order)
      if (!issued.ok) throw new Error(issued.code)
      return { id: issued.data.id, credential: codeOf(issued.data) }
    },
    async restart() {
      await live.close()
      live = await liveServer({ ...options, port })
    },
    async close() {
      await live.close()
      await closeApp()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
