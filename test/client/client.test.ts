import Fastify from 'fastify'
import { expect, test } from 'vitest'
import {
  CallError,
  createClient,
  createPoolTransport,
  failureCodes,
  failureCodesOf,
  TransportError,
  type TransportRequest,
  unwrap,
} from '../../src/client/index.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { createInProcessTransport } from '../../src/testing/test-server.js'
import { rawServer } from '../support/listen.js'

const baseUrl = 'http://voucher.test'
const emptyList = 'HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{"success":true,"data":{"items":[]}}'

test('the client has a method for every endpoint of the contract', () => {
  const client = createClient({ baseUrl, transport: async () => expect.unreachable('sent') })
  for (const { id } of endpoints) {
    const [group = '', name = ''] = id.split('.')
    expect((client as unknown as Record<string, Record<string, unknown>>)[group]?.[name], id).toBeTypeOf('function')
  }
})

test('a client method sends path, body and idempotency key through the given transport', async () => {
  const app = Fastify()
  app.post('/api/v1/open-platform/vouchers/redemptions/:id/reverse', async (request) => ({
    success: true,
    data: {
      id: (request.params as { id: string }).id,
      status: 'reversed',
      key: request.headers['idempotency-key'],
      sent: request.body,
    },
  }))
  await app.ready()
  const client = createClient({ baseUrl, token: 'sop_x', transport: createInProcessTransport(app.routing) })
  expect(await client.vouchers.reverse({ redemptionId: 'rdm_1', reason: 'x' }, { idempotencyKey: 'k' })).toMatchObject({
    ok: true,
    data: { id: 'rdm_1', key: 'k', sent: { reason: 'x' } },
  })
})

test('the client retries a 503 with the same Idempotency-Key', { tags: 'idempotency-keys/1' }, async () => {
  const keys: unknown[] = []
  const client = createClient({
    baseUrl,
    transport: async ({ headers }) => {
      keys.push(headers['idempotency-key'])
      const body = JSON.stringify({ success: true, data: { id: 'rdm_1', status: 'succeeded' } })
      return keys.length < 3 ? { status: 503, headers: {}, body: '' } : { status: 200, headers: {}, body }
    },
    retry: { sleep: async () => {} },
  })
  expect(await client.vouchers.redeem({ credential: { type: 'redeem_code', value: 'x' } })).toMatchObject({ ok: true })
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
})

test('a client without a transport option sends over HTTP', async () => {
  const server = await rawServer((socket) => socket.end(emptyList))
  const client = createClient({ baseUrl: server.baseUrl, token: 'sop_x' })
  expect(await client.templates.list()).toMatchObject({ ok: true, data: { items: [] } })
})

test('a client method of a streaming endpoint returns its entries as an async iterable', async () => {
  const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"status":200}'))
  const result = await createClient({ baseUrl: server.baseUrl }).platform.requests()
  if (!result.ok) return expect.unreachable()
  for await (const entry of result.data) expect(entry.status).toBe(200)
})

test('a client with a pool as its transport option sends requests through the pool', async () => {
  const server = await rawServer((socket) => socket.end(emptyList))
  const pool = await createPoolTransport(server.baseUrl, { connections: 2 })
  const client = createClient({ baseUrl: server.baseUrl, transport: pool.send })
  expect(await client.apps.list()).toMatchObject({ ok: true })
  await pool.close()
})

test('the inject transport reports lost connections, timeouts and aborts as transport errors', async () => {
  const app = Fastify()
  let calls = 0
  app.get('/drop', (request) => {
    calls += 1
    request.raw.destroy(new Error('dropped'))
  })
  app.get('/silent', () => {})
  await app.ready()
  const send = createInProcessTransport(app.routing)
  const get = { method: 'GET', headers: {} }
  await expect(send({ ...get, path: '/drop' })).rejects.toMatchObject({ kind: 'lost' })
  await expect(send({ ...get, path: '/silent', timeoutMs: 20 })).rejects.toMatchObject({ kind: 'timeout' })
  await expect(send({ ...get, path: '/drop', signal: AbortSignal.abort() })).rejects.toMatchObject({ kind: 'aborted' })
  expect(calls).toBe(1)
})

test('createClient throws TypeError for an invalid base URL', () => {
  expect(() => createClient({ baseUrl: 'vouchers.example' })).toThrow(TypeError)
})

/** A client of a list with one id per page, and the requests that it sends. */
function listClient(ids: readonly string[], pages: number | null = ids.length) {
  const requests: TransportRequest[] = []
  const client = createClient({
    baseUrl,
    transport: async (request) => {
      requests.push(request)
      const page = Number(new URL(request.path, baseUrl).searchParams.get('page'))
      const items = ids.slice(page - 1, page).map((id) => ({ id }))
      const data = {
        items,
        ...(pages === null ? {} : { pagination: { page, limit: 1, total: ids.length, pages } }),
      }
      const body = JSON.stringify({ success: true, data })
      return page > 5 ? { status: 500, headers: {}, body: '' } : { status: 200, headers: {}, body }
    },
    retry: { tries: 1 },
  })
  return { client, requests }
}

async function idsOf(pages: AsyncIterable<{ readonly items: readonly { readonly id: string }[] }>) {
  const ids = []
  for await (const { items } of pages) ids.push(items.map((it) => it.id))
  return ids
}

test('pages of a list method yields each page once, with the other input', async () => {
  const { client, requests } = listClient(['a', 'b', 'c'])
  expect(await idsOf(client.templates.list.pages({ status: 'active', limit: 1 }))).toEqual([['a'], ['b'], ['c']])
  expect(requests.map((it) => it.path.split('?')[1])).toEqual(
    [1, 2, 3].map((page) => `status=active&limit=1&page=${page}`),
  )
  expect(await idsOf(client.templates.list.pages({ page: 3 }))).toEqual([['c']])
})

test('pages of a list ends after an empty page, and after one without a number of pages', async () => {
  expect(await idsOf(listClient(['a'], 4).client.templates.list.pages())).toEqual([['a']])
  expect(await idsOf(listClient([]).client.templates.list.pages())).toEqual([[]])
  expect(await idsOf(listClient(['a', 'b'], null).client.templates.list.pages())).toEqual([['a']])
})

test('pages of a list throws CallError for a failed page', async () => {
  const pages = listClient(['a']).client.templates.list.pages({ page: 6 })
  await expect(idsOf(pages)).rejects.toMatchObject({ name: 'CallError', code: 'INVALID_RESPONSE' })
})

test('only methods of lists with pagination have pages', () => {
  const { client } = listClient([])
  expect('pages' in client.vouchers.redeem).toBe(false)
  expect('pages' in client.apps.list).toBe(true)
})

test('unwrap returns the data of a success and throws CallError with the failure', async () => {
  const { client } = listClient(['a'])
  expect((await unwrap(client.templates.list({ page: 1 }))).items).toEqual([{ id: 'a' }])
  expect(unwrap(await client.templates.list({ page: 1 })).items).toHaveLength(1)
  const failure = await client.templates.list({ page: 6 })
  if (failure.ok) return expect.unreachable()
  expect(() => unwrap(failure)).toThrow(CallError)
  const error = await unwrap(client.templates.list({ page: 6 })).catch((it) => it)
  expect(error).toMatchObject({ code: 'INVALID_RESPONSE', failure })
  expect(error.message).toBe(`INVALID_RESPONSE: ${failure.message}`)
})

test('the stack of a CallError begins at the function that called unwrap', async () => {
  const { client } = listClient([])
  // After a tick, Node continues an await in one of its own functions, where the stack must not begin.
  const tick = () => new Promise<void>((resolve) => process.nextTick(resolve))
  const callsUnwrap = async () => {
    const data = await unwrap(tick().then(() => client.templates.list({ page: 6 })))
    return data
  }
  const error = await callsUnwrap().catch((it) => it)
  expect(error.stack.split('\n')[1]).toContain('callsUnwrap')
})

test('headers of a call are sent with it, but may not replace headers of the library', async () => {
  const { client, requests } = listClient(['a'])
  const headers = { 'X-Trace': 't1', 'User-Agent': 'till/1' }
  expect(await client.templates.list({ page: 1 }, { headers })).toMatchObject({ ok: true })
  expect(requests[0]?.headers).toMatchObject({ 'x-trace': 't1', 'user-agent': 'till/1', accept: 'application/json' })
  for (const refused of [
    { Authorization: 'x' },
    { 'idempotency-key': 'x' },
    { Host: 'x' },
    { 'content-length': '1' },
    { 'x y': 'x' },
    { x: 'a\r\nb: c' },
  ])
    expect(await client.templates.list({}, { headers: refused })).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
  expect(requests).toHaveLength(1)
})

test('the retry option of a call replaces members of the retry option of the client', async () => {
  let calls = 0
  const client = createClient({
    baseUrl,
    transport: async () => {
      calls += 1
      return { status: 503, headers: {}, body: '' }
    },
    retry: { tries: 3, sleep: async () => {} },
  })
  for (const [retry, expected] of [
    [{}, 3],
    [{ tries: 1 }, 1],
    [{ tries: 2 }, 2],
  ] as const) {
    calls = 0
    await client.templates.list({}, { retry })
    expect(calls).toBe(expected)
  }
})

/** A client of a silent server: each attempt ends at its time limit. Only attempts and pauses move the clock. */
function silentClient(timeoutMs?: number) {
  const limits: unknown[] = []
  let clock = 0
  const client = createClient({
    baseUrl,
    timeoutMs,
    transport: async ({ timeoutMs: limitMs = expect.unreachable('no time limit') }) => {
      limits.push(limitMs)
      clock += limitMs
      throw new TransportError('timeout', `No response within ${limitMs} ms`)
    },
    retry: { random: () => 1, sleep: async (ms) => void (clock += ms), monotonicMs: () => clock },
  })
  return { client, limits }
}

test('an attempt of a call has 15 s by default, and all attempts have 30 s', async () => {
  const { client, limits } = silentClient()
  expect(await client.templates.list()).toMatchObject({ code: 'TIMEOUT' })
  expect(limits).toEqual([15_000, 14_800])
  limits.length = 0
  await client.templates.list({}, { retry: { tries: 1 } })
  expect(limits).toEqual([15_000])
})

test('the default time limits of a poll grow by its timeout', { tags: 'time-limits/2' }, async () => {
  const { client, limits } = silentClient()
  await client.bots.updates({ timeout: 50 })
  expect(limits).toEqual([65_000, 14_800])
})

test('the timeoutMs of a client or a call limits each attempt and the call', { tags: 'time-limits/2' }, async () => {
  const patient = silentClient(40_000)
  expect(await patient.client.templates.list()).toMatchObject({ code: 'TIMEOUT' })
  await patient.client.templates.list({}, { timeoutMs: 20_000 })
  expect(patient.limits).toEqual([40_000, 20_000])
  const { client, limits } = silentClient()
  await client.templates.list({}, { timeoutMs: 20_000 })
  expect(limits).toEqual([20_000])
})

test('failureCodesOf lists the codes of one endpoint, all of which failureCodes has', () => {
  const codes = failureCodesOf(contract.vouchers.redeem)
  expect(codes).toContain('VOUCHER_ALREADY_REDEEMED')
  expect(codes).not.toContain('BOT_NOT_FOUND')
  expect(failureCodes).toEqual(expect.arrayContaining([...codes, 'NETWORK_ERROR', 'PROXY_INVALID']))
})
