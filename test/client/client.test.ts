import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { createClient, createPoolTransport } from '../../src/client/index.js'
import { endpoints } from '../../src/contract/index.js'
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

test('the client retries a 503 with the same Idempotency-Key', async () => {
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
