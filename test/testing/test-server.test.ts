import { readdirSync } from 'node:fs'
import process from 'node:process'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { templateBody } from '../../src/contract/openapi/template-body.js'
import { startServer } from '../../src/testing/index.js'
import type { StartOptions, TestServer } from '../../src/testing/types.js'
import { seed, seedToken } from '../support/server/seed.js'
import { temporaryFolder } from '../support/server/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ listen: false })
})
afterAll(() => server.close())

async function start(options: StartOptions): Promise<TestServer> {
  const started = await startServer(options)
  onTestFinished(() => started.close())
  return started
}

let issued = 0
async function issue(from: Pick<TestServer, 'client'>) {
  const input = { template_id: 'tpl_coffee', external_issue_id: `order-${++issued}`, recipient_user_id: 'user-1' }
  const result = await from.client.vouchers.issue(input)
  if (!result.ok) throw new Error(result.code)
  return result.data
}

async function credentialOf(from: Pick<TestServer, 'client'>) {
  const { type, value } = (await issue(from)).credentials.find((it) => it.type === 'redeem_code') ?? {}
  return { type: type as 'redeem_code', value: value as string }
}

test('client issues, verifies, redeems and reverses without any preparation', async () => {
  const credential = await credentialOf(server)
  expect(await server.client.vouchers.verify({ credential })).toMatchObject({ ok: true, data: { redeemable: true } })
  const redeemed = await server.client.vouchers.redeem({ credential })
  expect(redeemed).toMatchObject({ ok: true, data: { status: 'succeeded' } })
  const redemptionId = redeemed.ok ? redeemed.data.id : ''
  expect(await server.client.vouchers.reverse({ redemptionId })).toMatchObject({ data: { status: 'reversed' } })
})

test('server writes no file and handles no signal', { tags: 'servers-inside-a-test/1' }, async () => {
  const folder = temporaryFolder()
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const it of ['TMPDIR', 'HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME']) vi.stubEnv(it, folder)
  const handlers = () => ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((it) => process.listenerCount(it))
  const before = handlers()
  await credentialOf(await start({}))
  expect([handlers(), readdirSync(folder)]).toEqual([before, []])
})

test('client makes console, bot and operator calls with the credentials of the seed', async () => {
  const { client, operator } = server
  expect(await client.apps.list()).toMatchObject({ ok: true, data: { items: [{ id: 'app_shop' }] } })
  expect(await client.webhook.info()).toMatchObject({ ok: true, data: { delivery_mode: 'polling' } })
  expect(await operator.reviews()).toMatchObject({ ok: true, data: { items: [] } })
  expect(await client.platform.getClock()).toMatchObject({ ok: true, data: { test_clock: true } })
})

test('only a server with a port has a page, and its links name this port', async () => {
  const { operator: listening, baseUrl } = await start({})
  const link = await listening.openPage()
  expect(link).toMatchObject({ ok: true, data: { url: expect.stringContaining(`${baseUrl}/_platform/ui/#`) } })
  const { operator } = await start({ listen: false })
  expect(await operator.openPage()).toMatchObject({ ok: false, code: 'PAGE_OFF' })
})

test('console calls of the client succeed after the clock advanced by a year', async () => {
  const { client, clock } = await start({ listen: false })
  clock.advance('365d')
  expect(await client.apps.list()).toMatchObject({ ok: true })
})

test('client returns a lost response as a failure without a retry', { tags: 'servers-inside-a-test/2' }, async () => {
  const credential = await credentialOf(server)
  const again = { idempotencyKey: 'sale-lost' }
  server.faults.add({ endpoint: 'vouchers.redeem', kind: 'drop_response' })
  const lost = await server.client.vouchers.redeem({ credential }, again)
  expect(lost).toMatchObject({ ok: false, code: 'NETWORK_ERROR', outcomeUnknown: true })
  expect(await server.client.vouchers.redeem({ credential }, again)).toMatchObject({ ok: true, replayed: true })
})

test('call of the client ends when its signal aborts or its time is up', async () => {
  server.faults.add({ endpoint: 'templates.list', kind: 'delay', delay_ms: 60_000, times: 2 })
  const aborted = server.client.templates.list({}, { signal: AbortSignal.abort() })
  expect(await aborted).toMatchObject({ ok: false, code: 'ABORTED' })
  const controller = new AbortController()
  const call = server.client.templates.list({}, { signal: controller.signal })
  setImmediate(() => controller.abort())
  expect(await call).toMatchObject({ ok: false, code: 'ABORTED' })
  expect(await server.client.templates.list({}, { timeoutMs: 1 })).toMatchObject({ ok: false, code: 'TIMEOUT' })
  server.faults.clear()
})

test('program under test reaches the server at its base URL and port', async () => {
  const { baseUrl, token, client } = await start({})
  const credential = await credentialOf({ client })
  const shop = createClient({ baseUrl, token })
  expect(await shop.vouchers.verify({ credential })).toMatchObject({ ok: true })
  const log = await client.platform.requests()
  if (!log.ok) throw new Error(log.code)
  const endpoints: (string | null)[] = []
  for await (const entry of log.data) endpoints.push(entry.endpoint)
  expect(endpoints).toEqual(['vouchers.issue', 'vouchers.verify'])
})

test('transport lets another client call a server without a port', async () => {
  const other = createClient({ baseUrl: 'http://127.0.0.1', token: server.token, transport: server.transport })
  expect(await other.templates.list()).toMatchObject({ ok: true, data: { items: [{ id: 'tpl_coffee' }] } })
})

test('server without a port explains why it has no base URL and no streams', async () => {
  expect(() => server.baseUrl).toThrow(expect.objectContaining({ code: 'NO_PORT' }))
  await expect(server.operator.activity()).rejects.toMatchObject({ code: 'NO_PORT' })
})

test('members of a server without a port can be copied', async () => {
  const copied = { ...(await startServer({ listen: false })) }
  expect((await copied.client.templates.list()).ok).toBe(true)
  await copied.close()
})

test('servers of one process run side by side with separate data', async () => {
  const [one, other] = await Promise.all([start({}), start({})])
  expect(one.baseUrl).not.toBe(other.baseUrl)
  const credential = await credentialOf(one)
  expect(await one.client.vouchers.verify({ credential })).toMatchObject({ ok: true })
  expect(await other.client.vouchers.verify({ credential })).toMatchObject({ ok: false, code: 'VOUCHER_NOT_FOUND' })
})

test('seed option replaces the default records, and the client uses its first credentials', async () => {
  const seeded = await start({ listen: false, seed })
  expect(seeded).toMatchObject({ token: seedToken, seed })
  expect(await issue(seeded)).toMatchObject({ applicationId: 'app_coffee' })
  const empty = await start({ listen: false, seed: { account: 'acme' } })
  expect(empty.token).toBe('')
  expect(await empty.client.templates.list()).toMatchObject({ ok: false, code: 'TOKEN_MISSING' })
  expect(await empty.client.apps.list()).toMatchObject({ ok: true, data: { items: [] } })
})

test('autoApprove approves a submitted template; without it the operator does', async () => {
  const submit = async ({ client }: TestServer) => {
    const created = await client.templates.create({ ...templateBody, external_template_id: 'tea' })
    const templateId = created.ok ? created.data.id : ''
    await client.templates.submit({ templateId })
    const listed = await client.templates.list({ external_template_id: 'tea' })
    return [templateId, listed.ok && listed.data.items[0]?.status] as const
  }
  expect(await submit(await start({ listen: false, autoApprove: true }))).toMatchObject([/^tpl_/, 'active'])
  const [templateId, status] = await submit(server)
  expect(status).toBe('reviewing')
  expect(await server.operator.approveTemplate({ templateId })).toMatchObject({ data: { status: 'active' } })
})

test('secure option switches the encrypted transport off, or requires it of every client', async () => {
  const off = await start({ listen: false, secure: false })
  const bootstrap = await off.transport({ method: 'GET', path: '/api/v1/secure/bootstrap', headers: {} })
  expect(bootstrap.body).toContain('"enabled":false')
  const required = await start({ secure: 'required' })
  expect(await required.client.templates.list()).toMatchObject({ ok: true })
  const { baseUrl, token } = required
  const plain = await createClient({ baseUrl, token }).templates.list()
  expect(plain).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_REQUIRED' })
})

test('rate limits are off, on with true, and replaced by an object', { tags: 'servers-inside-a-test/2' }, async () => {
  const headersOf = async ({ client }: TestServer) => (await client.templates.list()).headers['ratelimit-policy']
  expect(await headersOf(server)).toBeUndefined()
  expect(await headersOf(await start({ listen: false, rateLimit: true }))).toContain('q=6000')
  const limited = await start({ listen: false, rateLimit: { reads: { calls: 1, seconds: 60 } } })
  expect(await headersOf(limited)).toContain('q=1;')
  expect(await limited.client.templates.list()).toMatchObject({ ok: false, code: 'RATE_LIMITED' })
})

test('closed server says so on every call, and closing it again changes nothing', async () => {
  const closing = await startServer()
  const { client, operator, transport, clock, faults } = closing
  await closing[Symbol.asyncDispose]()
  await closing.close()
  const closed = expect.objectContaining({ code: 'SERVER_CLOSED' })
  await expect(client.templates.list()).rejects.toThrow(closed)
  await expect(operator.reviews()).rejects.toThrow(closed)
  await expect(operator.activity()).rejects.toThrow(closed)
  await expect(transport({ method: 'GET', path: '/healthz', headers: {} })).rejects.toThrow(closed)
  await expect(closing.receive('ping')).rejects.toThrow(closed)
  expect(() => closing.baseUrl).toThrow(closed)
  expect(() => clock.now()).toThrow(closed)
  expect(() => clock.advance('1s')).toThrow(closed)
  expect(() => clock.set(new Date())).toThrow(closed)
  expect(() => faults.add({ endpoint: 'vouchers.redeem', kind: 'error' })).toThrow(closed)
  expect(() => faults.clear()).toThrow(closed)
})
