import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { templateBody } from '../../../src/contract/openapi/template-body.js'
import { makeToken } from '../../../src/domain/tokens.js'
import type { Seed } from '../../../src/server/seed/schema.js'
import { startServer } from '../../../src/testing/index.js'
import { verifyWebhook } from '../../../src/webhook/index.js'
import { type McpClient, mcpClient } from '../../support/cli/mcp.js'
import { listen } from '../../support/listen.js'
import { chunksOf } from '../../support/server/request-body.js'
import { seed } from '../../support/server/seed.js'
import { codeOf } from '../../support/server/tenant.js'

const otherToken = makeToken('sop_', (size) => new Uint8Array(size).fill(13))
const secret = 'secret_of_this_webhook_0123456789'

interface Receiver {
  readonly secret?: string
  /** How the application changes the bytes before it verifies them. */
  readonly encode?: (body: string) => string
  /** Milliseconds by which its clock is ahead. */
  readonly aheadMs?: number
}

/** Starts an application that verifies deliveries, with a mistake. */
async function application({ secret: own = secret, encode = (it) => it, aheadMs = 0 }: Receiver): Promise<string> {
  const server = createServer(async (request, response) => {
    const rawBody = Buffer.from(encode(Buffer.concat(await chunksOf(request)).toString()))
    const now = Date.now() + aheadMs
    const verdict = verifyWebhook({ headers: request.headers, rawBody, secrets: [own], now })
    response.writeHead(verdict.ok ? 200 : 401, { date: new Date(now).toUTCString() }).end()
  })
  return `http://127.0.0.1:${await listen(server)}/hook`
}

const reencode = (body: string) => JSON.stringify(JSON.parse(body), null, body === '{}' ? 0 : 2)

interface Cause {
  readonly code: string
  readonly text?: string
  readonly cure?: string
  readonly causes?: string
  readonly meaning?: string
}

/** Follows the first suggestion of each result, from the state of the server, until a result is certain of a cause. */
async function investigate({ call }: McpClient): Promise<Cause | undefined> {
  let step = { tool: 'server_state', arguments: {} as Record<string, unknown> }
  for (let turn = 0; turn < 5; turn += 1) {
    const { isError, text, data, next } = await call(step.tool, step.arguments)
    expect(isError, text).toBe(false)
    const { cause, certain = true } = data as { cause?: Cause | null; certain?: boolean }
    if (cause && certain) return cause
    const [first] = next
    if (first === undefined) return undefined
    step = first
  }
  return undefined
}

/** Plants a mistake, and returns the cause that a client finds. */
async function causeOf(plant: (server: Awaited<ReturnType<typeof startServer>>) => Promise<void>) {
  const server = await startServer({ seed: twoShops })
  try {
    await plant(server)
    const env = { VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey }
    return await investigate(await mcpClient([], { env }))
  } finally {
    await server.close()
  }
}

/** Returns the cause that a client finds for a delivery that an application with a mistake refused. */
const causeOfRefusal = (receiver: Receiver, fault?: 'forged' | 'stale' | 'lost') =>
  causeOf(async ({ operator, client, faults }) => {
    if (fault !== undefined) faults.add({ endpoint: 'deliveries', kind: fault })
    const url = await application(receiver)
    expect(await client.webhook.set({ botId: 'bot_coffee', url, secret_token: secret })).toMatchObject({ ok: true })
    const lines = await operator.activity({ follow: 'true' })
    if (!lines.ok) throw new Error(lines.code)
    await operator.addUpdate({ botId: 'bot_coffee', type: 'ping' })
    for await (const line of lines.data) if (line.kind === 'delivery' && line.delivery.error !== null) break
  })

const order = { template_id: 'tpl_once', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
const template = { ...templateBody, id: 'tpl_once', issue_limit: 1 }
const otherShop = {
  id: 'app_other',
  name: 'Other shop',
  tokens: [{ id: 'tok_other', name: 'till', token: otherToken, scopes: ['vouchers:read', 'vouchers:verify'] as const }],
}
const shop = { ...seed.applications?.[0], id: 'app_coffee', name: 'Coffee shop', templates: [template] }
const twoShops = { ...seed, applications: [shop, otherShop] } as Seed

test('a client finds the wrong secret of an application', async () => {
  const cause = await causeOfRefusal({ secret: 'another_secret_of_the_application' })
  expect(cause).toMatchObject({ code: 'other_secret', cure: expect.stringContaining('the secret of this webhook') })
})

test.each([
  ['forged', 'the refusal is right.'],
  ['stale', 'the refusal is right.'],
  ['lost', 'nothing was sent.'],
] as const)('a client finds the planted fault %s, and blames nobody', async (fault, text) => {
  const cause = await causeOfRefusal({}, fault)
  const cure = 'Nothing is wrong: the server sends it again.'
  expect(cause).toEqual({ code: 'planted_fault', text: `A planted fault (${fault}): ${text}`, cure })
})

test('a client finds that an application encodes bodies again', async () => {
  const cause = await causeOfRefusal({ encode: reencode })
  expect(cause).toMatchObject({ code: 'raw_body', cure: expect.stringContaining('as they arrived') })
})

test('a client finds the wrong clock of an application', async () => {
  const cause = await causeOfRefusal({ aheadMs: 3_600_000 })
  expect(cause).toMatchObject({ code: 'app_clock', cure: 'Correct the clock of the application.' })
})

test('a probe proves nothing when the application fails', async () => {
  const server = await startServer({ seed: twoShops })
  const env = { VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey }
  const { call } = await mcpClient([], { env })
  let responses = 0
  const app = createServer((request, response) => {
    request.resume()
    responses += 1
    response.writeHead(responses === 1 ? 401 : 500).end()
  })
  const url = `http://127.0.0.1:${await listen(app)}/hook`
  await server.client.webhook.set({ botId: 'bot_coffee', url, secret_token: secret })
  await server.operator.addUpdate({ botId: 'bot_coffee', type: 'ping' })
  const waited = await call('activity', { only: 'problems', wait_seconds: 30 })
  const { items } = waited.data as { items: { delivery: { delivery_id: string } }[] }
  const id = items[0]?.delivery.delivery_id
  const probe = { delivery_id: id, send: 'probe' }
  expect((await call('replay_delivery', probe)).data).toMatchObject({ verdict: 'failed', cause: null, certain: false })
  await server.close()
})

test('a client finds that the quota of a template is used up', async () => {
  const cause = await causeOf(async ({ client }) => {
    expect(await client.vouchers.issue(order)).toMatchObject({ ok: true })
    const second = { ...order, external_issue_id: 'order-2' }
    expect(await client.vouchers.issue(second)).toMatchObject({ code: 'TEMPLATE_QUOTA_EXHAUSTED' })
  })
  expect(cause).toMatchObject({ code: 'TEMPLATE_QUOTA_EXHAUSTED', meaning: expect.stringContaining('used up') })
})

test('a client finds that a token belongs to another application', async () => {
  const cause = await causeOf(async ({ client, baseUrl }) => {
    const issued = await client.vouchers.issue(order)
    if (!issued.ok) throw new Error(issued.code)
    const other = createClient({ baseUrl, token: otherToken })
    expect(await other.vouchers.verify({ credential: codeOf(issued.data) })).toMatchObject({ ok: false })
  })
  expect(cause).toMatchObject({ code: 'VOUCHER_NOT_FOUND', causes: expect.stringContaining('another application') })
})
