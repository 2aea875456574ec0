import http from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contract, endpoints } from '../../../src/contract/index.js'
import { createLimits } from '../../../src/server/limits.js'
import type { Store } from '../../../src/store/store.js'
import { securely } from '../../support/secure/send.js'
import { type InnerCall, wireSession } from '../../support/secure/wire.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { callerOf, sendTo, wireOf } from '../../support/server/client.js'
import { portOf, RawConnection } from '../../support/server/raw.js'
import { Scene } from '../../support/server/scene.js'
import { codeOf, newTenant, serial, type Tenant } from '../../support/server/tenant.js'
import { WatchedPolls } from '../../support/server/watched-polls.js'
import { openTestStore } from '../../support/store/engines.js'

/** Tests that an encrypted call differs from a plain call only where the rules say so. */

let store: Store
beforeAll(() => {
  store = openTestStore()
})
afterAll(() => store.close())

let polls: WatchedPolls
let server: TestApp
let tenant: Tenant
beforeEach(async () => {
  await restart()
})
afterEach(() => server.close())

async function restart(overrides: Parameters<typeof testApp>[0] = {}): Promise<void> {
  await server?.close()
  polls = new WatchedPolls()
  server = testApp({ store, polls, ...overrides })
  tenant = await newTenant(server)
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
const list = (token = tenant.token): InnerCall => ({
  method: 'GET',
  path: contract.templates.list.path,
  headers: bearer(token),
})
const issueBody = async () => ({
  template_id: (await tenant.template()).id,
  external_issue_id: `issue-${serial()}`,
  recipient_user_id: 'user-1',
})
const issue = (body: unknown, key: string): InnerCall => ({
  method: 'POST',
  path: contract.vouchers.issue.path,
  headers: { ...bearer(tenant.token), 'idempotency-key': key },
  body,
})

describe('encrypted calls of every endpoint', () => {
  const published = endpoints.filter((it) => it.caller !== 'operator')
  it.each(published.map((it) => [it.id, it] as const))(
    'endpoint %s returns the same response to an encrypted as to a plain call',
    async (_, endpoint) => {
      const scene = await Scene.of(server, endpoint)
      const inside = { ...server, send: securely(server.send) }
      await scene.request()
      const response = await scene.send({ to: inside })
      expect([response.status, response.envelope.success]).toEqual([endpoint.status, true])
      const refused = await scene.send({ credential: null })
      const refusedInside = await scene.send({ credential: null, to: inside })
      expect([refusedInside.status, refusedInside.sameness]).toEqual([refused.status, refused.sameness])
      const wrong = await scene.send({ query: 'unknown=1' })
      const wrongInside = await scene.send({ query: 'unknown=1', to: inside })
      expect([wrongInside.status, wrongInside.sameness]).toEqual([wrong.status, wrong.sameness])
      await scene.close()
    },
  )
})

describe('invalid inner request', () => {
  it.each([
    ['method', { method: 'HEAD' }],
    ['method', { method: 'get' }],
    ['path', { path: '/_platform/v1/requests' }],
    ['path', { path: '/healthz' }],
    ['headers', { headers: { Authorization: 'Bearer a', authorization: 'Bearer b' } }],
    ['query', { query: { a: { b: 1 } } }],
    ['body', { body: {} }],
    ['members', { remoteAddress: '127.0.0.1' }],
  ])('inner request with invalid %s is refused inside: %j', { tags: 'page-requests/2' }, async (part, change) => {
    const { call } = await wireSession(server.send)
    const response = await call({ ...list(), ...change } as InnerCall)
    expect([response.status, response.code, response.details]).toEqual([400, 'SECURE_REQUEST_INVALID', { part }])
    expect(response.headers['x-request-id']).toBe(response.envelope.requestId)
  })

  it.each([
    ['a body that is too large', 413, 'PAYLOAD_TOO_LARGE', { name: 'x'.repeat(65_536) }, 'application/json'],
    ['a body of another type', 415, 'UNSUPPORTED_MEDIA_TYPE', {}, 'text/plain'],
    ['17 levels', 400, 'INVALID_JSON', JSON.parse(`${'{"a":'.repeat(16)}{}${'}'.repeat(16)}`), 'application/json'],
    ['a prototype', 400, 'VALIDATION_FAILED', JSON.parse('{"__proto__":{"name":"x"}}'), 'application/json'],
  ])('inner request with %s gets the same refusal as a plain request', async (_, status, code, body, type) => {
    const { call } = await wireSession(server.send)
    const { path } = contract.templates.create
    const headers = { ...bearer(tenant.token), 'content-type': type }
    const inside = await call({ method: 'POST', path, headers, body })
    const outside = await server.send({ method: 'POST', path, headers, body: JSON.stringify(body) })
    expect([inside.status, inside.code]).toEqual([status, code])
    expect(inside.sameness).toBe(outside.sameness)
  })

  it('inner body within the size limit is accepted even if its numbers get longer when parsed', async () => {
    const { call } = await wireSession(server.send)
    const { path } = contract.templates.create
    const headers = bearer(tenant.token)
    const body = `{"name":[${'1e20,'.repeat(10_000)}1]}`
    const inner = `{"method":"POST","path":"${path}","headers":${JSON.stringify(headers)},"body":${body}}`
    const inside = await call(Buffer.from(inner))
    const outside = await server.send({ method: 'POST', path, headers, body })
    expect(inside.code).toBe('VALIDATION_FAILED')
    expect(inside.sameness).toBe(outside.sameness)
  })

  it('inner request gets 404 for an unknown path and 405 for a wrong method', async () => {
    const { call } = await wireSession(server.send)
    expect((await call({ method: 'GET', path: '/api/v1/nothing' })).code).toBe('ROUTE_NOT_FOUND')
    expect((await call({ method: 'PUT', path: contract.vouchers.issue.path })).code).toBe('METHOD_NOT_ALLOWED')
  })
})

it('text in an inner request is normalised like text in a plain request', async () => {
  const { call } = await wireSession(server.send)
  const body = { name: 'Cafe\u0301' }
  const path = contract.apps.create.path
  const response = await call({ method: 'POST', path, headers: bearer(tenant.jwt), body })
  expect(response.data).toMatchObject({ name: 'Caf\u00e9' })
})

describe('outer request', () => {
  it('failed authentications of inner and plain calls share one limit per address', async () => {
    await restart({ limits: createLimits({ auth_failures: { calls: 2, seconds: 60 } }, () => 0) })
    const { call } = await wireSession(server.send)
    expect((await call(list('sop_x'))).code).toBe('TOKEN_INVALID')
    expect((await server.send({ method: 'GET', path: contract.templates.list.path })).code).toBe('TOKEN_MISSING')
    const limited = await call(list('sop_x'))
    expect([limited.status, limited.code, limited.headers['retry-after']]).toEqual([429, 'RATE_LIMITED', '60'])
    expect((await call(list())).status).toBe(200)
  })
})

describe('inner response', () => {
  it('inner response has the RateLimit and Retry-After headers, the outer one has neither', async () => {
    await restart({ limits: createLimits({ reads: { calls: 1, seconds: 60 } }, () => 0) })
    const { seal, open } = await wireSession(server.send)
    const responses = []
    for (let n = 0; n < 2; n++) {
      const sent = seal(list())
      const outer = await server.send(sent)
      expect(outer.status).toBe(200)
      expect(Object.keys(outer.headers).filter((it) => /ratelimit|retry|idempotent/.test(it))).toEqual([])
      responses.push(open(sent, outer))
    }
    expect(responses[0]?.headers).toMatchObject({
      'ratelimit-policy': '"reads";q=1;w=60',
      ratelimit: '"reads";r=0;t=60',
    })
    expect([responses[1]?.status, responses[1]?.headers['retry-after']]).toEqual([429, '60'])
  })

  it('inner response has the request id of its outer response and of the log', async () => {
    const { seal, open } = await wireSession(server.send)
    const sent = seal(list())
    const outer = await server.send(sent)
    const inner = open(sent, outer)
    const log = server.deps.requestLog.stream(false)
    let text = ''
    for await (const chunk of log) text += String(chunk)
    const lines = text
      .trim()
      .split('\n')
      .slice(-2)
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { request_id: outer.headers['x-request-id'], endpoint: 'templates.list', status: 200 },
      { request_id: outer.headers['x-request-id'], endpoint: 'secure.dispatch', status: 200, application_id: null },
    ])
    expect([inner.headers['x-request-id'], inner.envelope.requestId]).toEqual(
      Array(2).fill(outer.headers['x-request-id']),
    )
  })
})

describe('Idempotency-Key of inner calls', () => {
  it('concurrent encrypted and plain calls with one Idempotency-Key have one effect', async () => {
    const { call } = await wireSession(server.send)
    const credential = codeOf(await tenant.issue())
    const path = contract.vouchers.redeem.path
    const headers = { ...bearer(tenant.token), 'idempotency-key': 'both' }
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        n % 2 === 0
          ? call({ method: 'POST', path, headers, body: { credential } })
          : tenant.runtime(contract.vouchers.redeem, { credential }, { key: 'both' }),
      ),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(responses.filter(({ headers: it }) => it['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(new Set(responses.map(({ data }) => (data as { id: string }).id)).size).toBe(1)
  })
})

describe('encrypted getUpdates', () => {
  const poll = (token: string, timeout: number): InnerCall => ({
    method: 'POST',
    path: contract.bots.updates.path,
    headers: bearer(token),
    body: { timeout },
  })

  it('encrypted getUpdates with a timeout above 10 s is refused and ends no other poll', async () => {
    const bot = await tenant.bot()
    const { call } = await wireSession(server.send)
    const held = bot.call(contract.bots.updates, { timeout: 50 })
    await polls.waits(1)
    const refused = await call(poll(bot.token, 11))
    expect([refused.status, refused.code, refused.details]).toEqual([
      400,
      'VALIDATION_FAILED',
      { errors: [{ pointer: '/timeout', code: 'maximum', message: 'must be <= 10 through the encrypted transport' }] },
    ])
    const inside = call(poll(bot.token, 10))
    expect((await held).code).toBe('POLL_TERMINATED')
    await polls.waits(2)
    await tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
    expect((await inside).text).toContain('"update_id":1')
  })

  it('encrypted getUpdates ends when its client disconnects', async () => {
    const bot = await tenant.bot()
    const port = await portOf(server.app)
    const { seal } = await wireSession(server.send)
    const { path, headers = {}, body } = seal(poll(bot.token, 10))
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const connection = await RawConnection.to(port)
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    await polls.waits(1)
    connection.destroy()
    await polls.ends(1)
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('encrypted getUpdates gets a sealed response immediately when the server closes', async () => {
    const bot = await tenant.bot()
    const port = await portOf(server.app)
    const agent = new http.Agent()
    const send = sendTo(`http://127.0.0.1:${port}`, agent)
    const held = callerOf(securely(send), bot.token)(contract.bots.updates, { timeout: 10 })
    await polls.waits(1)
    await server.app.close()
    expect((await held).data).toEqual({ items: [] })
    agent.destroy()
  })
})

it('drop_response fault of an encrypted call closes the connection after the effect', async () => {
  const port = await portOf(server.app)
  const { seal, open } = await wireSession(server.send)
  const body = await issueBody()
  await tenant.operator(contract.platform.addFault, { endpoint: 'vouchers.issue', kind: 'drop_response', times: 1 })
  const sent = seal(issue(body, 'dropped'))
  const lines = Object.entries(sent.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
  const connection = await RawConnection.to(port)
  const head = `POST ${sent.path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${sent.body.length}\r\n\r\n`
  connection.write(head + sent.body)
  await connection.end()
  expect(connection.received).toBe('')
  const again = seal(issue(body, 'dropped'))
  const replay = open(again, await server.send(again))
  expect([replay.status, replay.headers['idempotent-replayed']]).toEqual([201, 'true'])
})

it('inner request with the body null counts as one without a body', async () => {
  const { id: templateId } = await tenant.draft()
  const { call } = await wireSession(server.send)
  const { method, path } = wireOf(contract.templates.submit, { templateId })
  const submitted = await call({ method, path, headers: bearer(tenant.token), body: null })
  expect(submitted.data).toMatchObject({ id: templateId, status: 'reviewing' })
})
