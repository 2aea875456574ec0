import { expect, onTestFinished, test } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { deliveryFaults, faultKinds } from '../../src/contract/platform/fault-kinds.js'
import { startServer } from '../../src/testing/index.js'
import type { NewFault, StartOptions } from '../../src/testing/types.js'
import { until } from '../support/server/deliveries.js'
import { seed } from '../support/server/seed.js'

async function start(options: StartOptions = {}) {
  const server = await startServer(options)
  onTestFinished(() => server.close())
  return server
}

const endpoint = 'templates.list'
const of = (fault: Omit<NewFault, 'endpoint'>): NewFault => ({ endpoint, ...fault })

test('status fault responds with status, code and Retry-After over a port', async () => {
  const server = await start()
  const call = async () => {
    const response = await fetch(server.baseUrl + contract.templates.list.path, {
      headers: { authorization: `Bearer ${server.token}` },
    })
    return [response.status, response.headers.get('retry-after'), ((await response.json()) as { code?: string }).code]
  }
  server.faults.add(of({ kind: 'status', status: 429, retry_after: 7 }))
  expect(await call()).toEqual([429, '7', 'RATE_LIMITED'])
  server.faults.add(of({ kind: 'status', status: 503 }))
  expect(await call()).toEqual([503, null, 'SERVICE_UNAVAILABLE'])
  server.faults.add(of({ kind: 'status', status: 418, code: 'TEAPOT' }))
  expect(await call()).toEqual([418, null, 'TEAPOT'])
  server.faults.add(of({ kind: 'status', status: 418 }))
  expect(await call()).toEqual([418, null, 'STATUS_418'])
  expect(await call()).toEqual([200, null, undefined])
})

const issueCall = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'u1' }

test.each([
  ['refuse_connection', undefined],
  ['drop_response', true],
  ['cut_connection', true],
  ['cut_body', true],
] as const)(
  'fault %s loses the response with and without a port, and says if work was done',
  async (kind, replayed) => {
    for (const options of [{}, { listen: false }, { secure: 'required' }] as StartOptions[]) {
      const server = await start(options)
      server.faults.add({ endpoint: 'vouchers.issue', kind })
      const keyed = { idempotencyKey: 'order-1' }
      expect(await server.client.vouchers.issue(issueCall, keyed)).toMatchObject({ ok: false, outcomeUnknown: true })
      const again = await server.client.vouchers.issue(issueCall, keyed)
      expect(again).toMatchObject({ ok: true })
      expect(again.ok && again.replayed ? true : undefined).toBe(replayed)
    }
  },
)

test.each([
  ['cut_connection', 0],
  ['cut_body', 0.5],
] as const)('fault %s sends the head with the full length and a part of the body', async (kind, part) => {
  const server = await start()
  server.faults.add(of({ kind }))
  const { request } = await import('node:http')
  const read = await new Promise<{ status: number | undefined; length: number; bytes: number }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.token}` }
    const sent = request(server.baseUrl + contract.templates.list.path, { headers, agent: false }, (response) => {
      let bytes = 0
      response.on('data', (it: Buffer) => (bytes += it.length))
      response.on('error', () => {})
      const length = Number(response.headers['content-length'])
      response.on('close', () => resolve({ status: response.statusCode, length, bytes }))
    })
    sent.on('error', reject)
    sent.end()
  })
  expect(read.status).toBe(200)
  expect(read.bytes).toBe(Math.floor(read.length * part))
})

test('fault with nth affects the nth matching call, and one with a seed the same share again', async () => {
  const server = await start({ listen: false })
  const outcomes = async (count: number) => {
    const all = []
    for (let n = 0; n < count; n += 1) all.push((await server.client.templates.list()).ok)
    return all
  }
  server.faults.add(of({ kind: 'error', nth: 3 }))
  expect(await outcomes(4)).toEqual([true, true, false, true])
  server.faults.add(of({ kind: 'error', nth: 2, times: 2 }))
  expect(await outcomes(4)).toEqual([true, false, false, true])
  const seeded = async (number: number) => {
    server.faults.add(of({ kind: 'error', share: 0.5, seed: number }))
    const all = await outcomes(20)
    server.faults.clear()
    return all
  }
  const first = await seeded(1)
  expect(await seeded(1)).toEqual(first)
  expect(await seeded(2)).not.toEqual(first)
})

test('fault with match affects only calls with this path and these members, and lists no values', async () => {
  const server = await start({ listen: false })
  const failing = { endpoint: 'vouchers.issue', kind: 'error' } as const
  const issue = async (id: string) => (await server.client.vouchers.issue({ ...issueCall, external_issue_id: id })).ok
  server.faults.add({ ...failing, match: { path: '/api/*/issue', body: { external_issue_id: 'b' } } })
  const listed = await server.operator.faults()
  expect(listed.ok && listed.data.items[0]?.match).toEqual({ path: '/api/*/issue', body: ['external_issue_id'] })
  expect([await issue('a'), await issue('b'), await issue('b')]).toEqual([true, false, true])
  server.faults.add({ ...failing, match: { path: '/other' } })
  server.faults.add({ ...failing, match: { path: '/api/v1/*x*issue' } })
  expect(await issue('c')).toBe(true)
})

test('faults of a seed hold from the start and again after a reset', async () => {
  const faults = [of({ kind: 'status', status: 429, times: 1 })]
  const server = await start({ listen: false, seed: { ...seed, faults } })
  for (const _ of [1, 2]) {
    expect(await server.client.templates.list()).toMatchObject({ ok: false, code: 'RATE_LIMITED' })
    expect(await server.client.templates.list()).toMatchObject({ ok: true })
    await server.reset()
  }
})

test('faults of a seed disturb deliveries from the start and again after a reset', async () => {
  const faults = deliveryFaults.map((kind, index) => ({ endpoint: 'deliveries', kind, nth: index + 1 }) as const)
  const server = await start({ listen: false, seed: { ...seed, faults } })
  const bot = { botId: 'bot_coffee' }
  for (const _ of [1, 2]) {
    await server.receive('ping', { within: 0 }).catch(() => {})
    const made = async () => {
      const listed = await server.client.webhook.deliveries(bot)
      if (!listed.ok) throw new Error(listed.code)
      return listed.data.items.map(({ attempts }) => attempts.map(({ fault }) => fault)).reverse()
    }
    for (const [index, kind] of deliveryFaults.entries()) {
      await server.operator.addUpdate({ ...bot, type: 'ping' })
      // A late delivery has no attempt before the next one is answered, which a lost one is not.
      await until(async () => kind === 'late' || (await made())[index]?.[0] === kind)
    }
    await until(async () => (await made())[deliveryFaults.indexOf('late')]?.length === 1)
    expect(await made()).toEqual(deliveryFaults.map((kind) => [kind]))
    await server.reset()
  }
})

const malformed: readonly [member: string, fault: object][] = [
  ['status', { kind: 'status', times: 1 }],
  ['status', { kind: 'status', status: 200 }],
  ['status', { kind: 'error', times: 1, status: 429 }],
  ['code', { kind: 'status', status: 429, code: 'too many' }],
  ['retry_after', { kind: 'status', status: 429, retry_after: -1 }],
  ['at', { kind: 'hang', at: 'before' }],
  ['hold_ms', { kind: 'hang', hold_ms: 0 }],
  ['hold_ms', { kind: 'delay', delay_ms: 1, hold_ms: 1 }],
  ['nth', { kind: 'error', nth: 0 }],
  ['nth', { kind: 'error', nth: 2, share: 0.5 }],
  ['share', { kind: 'error', share: 2 }],
  ['rate', { kind: 'error', rate: 0.5 }],
  ['seed', { kind: 'error', times: 1, seed: 1 }],
  ['match', { kind: 'error', times: 1, match: {} }],
  ['match.path', { kind: 'error', times: 1, match: { path: 'issue' } }],
  ['match.body', { kind: 'error', times: 1, match: { body: [] } }],
  ['match.method', { kind: 'error', times: 1, match: { method: 'GET' } }],
]

test.each(malformed)('library, operator call and seed refuse a malformed %s of a fault %j', async (member, members) => {
  const server = await start({ listen: false })
  const fault = { endpoint, ...members } as NewFault
  expect(() => server.faults.add(fault)).toThrow(`fault.${member} `)
  const refused = await server.operator.addFault(fault as Parameters<typeof server.operator.addFault>[0])
  const errors = refused.ok ? [] : (refused.details?.errors as { pointer: string }[])
  const pointer = `/${member.replace('.', '/')}`
  expect(errors[0]?.pointer).toBe(pointer)
  const name = `faults[0].${member}`
  await expect(startServer({ listen: false, seed: { ...seed, faults: [fault] } })).rejects.toThrow(name)
})

test('a fault of each kind can be added', async () => {
  const server = await start({ listen: false })
  for (const kind of faultKinds) {
    const needed = { ...(kind === 'delay' && { delay_ms: 1 }), ...(kind === 'status' && { status: 500 }) }
    const endpoint = deliveryFaults.includes(kind) ? 'deliveries' : 'templates.list'
    server.faults.add({ endpoint, kind, ...needed })
  }
  const listed = await server.operator.faults()
  expect(listed.ok && listed.data.items.map(({ kind }) => kind)).toEqual(faultKinds)
})
