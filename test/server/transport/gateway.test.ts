import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { MEDIA_TYPE, paths } from '../../../src/secure/index.js'
import type { ServerSession } from '../../../src/secure/server/session.js'
import { ClientAddresses, createLimits } from '../../../src/server/limits.js'
import { memorySessions } from '../../../src/store/sessions.js'
import { type Store, StoreUnavailable } from '../../../src/store/store.js'
import { wireSession } from '../../support/secure/wire.js'
import { type TestApp, testApp, testDeps } from '../../support/server/app.js'
import type { ApiResponse } from '../../support/server/client.js'
import { portOf, RawConnection, rawResponse } from '../../support/server/raw.js'
import { newTenant } from '../../support/server/tenant.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'

/** Tests of the bootstrap, session and dispatch endpoints: input, order of refusals, encrypted sessions. */

let store: Store
beforeAll(() => {
  store = openTestStore()
})
afterAll(() => store.close())

let server: TestApp
beforeEach(() => {
  server = testApp({ store })
})
afterEach(() => server.close())

async function listening(): Promise<number> {
  return portOf(server.app)
}

const clientPublicKey = 'BFgtJ9RuU1whvjBiSlNTuOy4ywuxWT3Of63vzJ9bZXScS7_N8VyXJpwm8zz82EwHcYpdP8BGOYVmnzm50tHINDM'
const json = { 'content-type': 'application/json' }
const openWith = (body: string, headers: Readonly<Record<string, string>> = json, query = '') =>
  server.send({ method: 'POST', path: `${paths.session}${query}`, headers, body })
const sealedHead = `POST ${paths.dispatch} HTTP/1.1\r\nHost: x\r\nContent-Type: ${MEDIA_TYPE}\r\n`

describe('session endpoint', () => {
  it.each([
    ['a text body', 415, 'UNSUPPORTED_MEDIA_TYPE', 'a=b', { 'content-type': 'text/plain' }, ''],
    ['a gzip encoding', 415, 'UNSUPPORTED_MEDIA_TYPE', '{}', { ...json, 'content-encoding': 'gzip' }, ''],
    ['truncated JSON', 400, 'INVALID_JSON', '{"clientPublicKey"', json, ''],
    ['more than 64 KiB', 413, 'PAYLOAD_TOO_LARGE', JSON.stringify({ v: 'x'.repeat(65_536) }), json, ''],
    ['an empty body', 400, 'SECURE_PUBLIC_KEY_INVALID', '', {}, ''],
    ['a list', 400, 'SECURE_PUBLIC_KEY_INVALID', '[]', json, ''],
    [
      'an unknown member',
      400,
      'VALIDATION_FAILED',
      JSON.stringify({ clientPublicKey, client_public_key: '' }),
      json,
      '',
    ],
    ['a query', 400, 'VALIDATION_FAILED', JSON.stringify({ clientPublicKey }), json, '?kid=1'],
  ])('secure session request with %s gets %i %s', async (_, status, code, body, headers, query) => {
    const response = await openWith(body, headers, query)
    expect([response.status, response.code]).toEqual([status, code])
  })

  it('31st session request of an address in a minute is refused', {
    tags: ['bootstrap-and-session/4', 'rate-limits/1', 'rate-limits/3'],
  }, async () => {
    await server.close()
    let now = 0
    server = testApp({ limits: createLimits({}, () => now) })
    for (let n = 0; n < 30; n++) expect((await openWith(JSON.stringify({ clientPublicKey }))).status).toBe(200)
    now = 1_500
    const refused = await openWith('x', { 'content-type': 'text/plain' })
    expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([429, 'RATE_LIMITED', '59'])
    expect(refused.headers).not.toHaveProperty('ratelimit')
    expect((await server.send({ method: 'GET', path: paths.bootstrap })).status).toBe(200)
    now = 60_000
    expect((await openWith(JSON.stringify({ clientPublicKey }))).status).toBe(200)
  })

  const malformed = [
    ['text/plain', { 'content-type': 'text/plain' }, 'UNSUPPORTED_MEDIA_TYPE'],
    ['{', json, 'INVALID_JSON'],
    ['{"junk":1}', json, 'VALIDATION_FAILED'],
    ['{}', json, 'SECURE_PUBLIC_KEY_INVALID'],
    [JSON.stringify({ clientPublicKey, kid: 'unknown' }), json, 'SECURE_SESSION_MISMATCH'],
    [JSON.stringify({ clientPublicKey }), { ...json, origin: 'not an origin' }, 'SECURE_ORIGIN_NOT_ALLOWED'],
  ] as const

  it('malformed session requests block no valid ones', { tags: 'limits-by-address/2' }, async () => {
    await server.close()
    let now = 0
    server = testApp({ limits: createLimits({}, () => now) })
    const junk = (n: number) => {
      const [body, headers, code] = malformed[n % malformed.length] as (typeof malformed)[number]
      return openWith(body, headers).then((response) => [response.code, code])
    }
    for (let n = 0; n < 30; n++) {
      const [code, expected] = await junk(n)
      expect(code).toBe(expected)
    }
    for (let n = 0; n < malformed.length; n++) expect((await junk(n))[0]).toBe('RATE_LIMITED')
    for (let n = 0; n < 30; n++) expect((await openWith(JSON.stringify({ clientPublicKey }))).status).toBe(200)
    now = 60_000
    expect((await junk(3))[0]).toBe('SECURE_PUBLIC_KEY_INVALID')
  })

  it('session request behind a trusted proxy is limited by its client', { tags: 'limits-by-address/1' }, async () => {
    await server.close()
    server = testApp({
      limits: createLimits({ secure_session: { calls: 2, seconds: 60 } }, () => 0),
      addresses: new ClientAddresses(['127.0.0.1']),
    })
    const open = (forwardedFor: string) =>
      openWith(JSON.stringify({ clientPublicKey }), { ...json, 'x-forwarded-for': forwardedFor })
    for (const status of [200, 200, 429]) expect((await open('203.0.113.66')).status).toBe(status)
    // A forged X-Forwarded-For entry neither evades the limit of the client nor counts against another client.
    expect((await open('198.51.100.7, 203.0.113.66')).status).toBe(429)
    expect((await open('203.0.113.66, 198.51.100.7')).status).toBe(200)
  })
})

describe('order of refusals of a dispatch', () => {
  it('dispatch path with another method gets 405 before any other refusal', { tags: 'dispatch-order/3' }, async () => {
    const response = await server.send({
      method: 'PUT',
      path: paths.dispatch,
      headers: { 'content-type': 'text/plain' },
    })
    expect([response.status, response.code, response.headers.allow]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST'])
  })

  it('server checks media type, then size, before it reads a dispatch', { tags: 'dispatch-order/3' }, async () => {
    const port = await listening()
    const long = 'Content-Length: 900000\r\n\r\n'
    const plain = sealedHead.replace(MEDIA_TYPE, 'application/json')
    expect((await rawResponse(port, plain + long)).code).toBe('UNSUPPORTED_MEDIA_TYPE')
    expect((await rawResponse(port, `${sealedHead}Content-Encoding: identity\r\n${long}`)).status).toBe(415)
    const large = await rawResponse(port, sealedHead + long)
    expect([large.status, large.code]).toEqual([413, 'SECURE_ENVELOPE_TOO_LARGE'])
  })

  it('client that is still sending a too long dispatch request receives 413', async () => {
    const port = await listening()
    const much = 'x'.repeat(64 * 1024)
    for (const framing of ['Content-Length: 4194304\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n']) {
      const connection = await RawConnection.to(port)
      connection.write(sealedHead + framing)
      const chunk = framing.startsWith('T') ? `${much.length.toString(16)}\r\n${much}\r\n` : much
      for (let n = 0; n < 64; n++) connection.write(chunk)
      const response = await connection.response()
      expect([response.status, response.code]).toEqual([413, 'SECURE_ENVELOPE_TOO_LARGE'])
      connection.destroy()
    }
  })

  it('chunked dispatch request is accepted up to the exact size limit', { tags: 'envelopes/2' }, async () => {
    const port = await listening()
    const sent = (await wireSession(server.send)).seal({ method: 'GET', path: contract.templates.list.path })
    const chunked = (size: number) => {
      const body = sent.body.padEnd(size)
      return `${sealedHead}Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    }
    expect((await rawResponse(port, chunked(262_145))).code).toBe('SECURE_ENVELOPE_TOO_LARGE')
    expect((await rawResponse(port, chunked(262_144))).status).toBe(200)
  })

  it('dispatch request with a used rid gets 409 even while the first request still runs', async () => {
    const { seal } = await wireSession(server.send)
    const sent = seal({ method: 'GET', path: contract.templates.list.path })
    const codes = (await Promise.all([server.send(sent), server.send(sent)])).map(({ status }) => status)
    expect(codes.sort()).toEqual([200, 409])
  })
})

describe('dispatch endpoint', () => {
  const call = { method: 'GET', path: contract.templates.list.path }

  it('dispatch path is recognised in every form of the request target', async () => {
    const port = await listening()
    const { seal } = await wireSession(server.send)
    const statusOf = async (target: string) => {
      const { body } = seal(call)
      const head = sealedHead.replace(paths.dispatch, target)
      return (await rawResponse(port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`)).status
    }
    for (const target of [
      `http://other.example${paths.dispatch}`,
      `${paths.dispatch}?`,
      `${paths.dispatch}#`,
      '/api/v1/secure/%64ispatch',
    ]) {
      expect(await statusOf(target), target).toBe(200)
    }
    for (const target of [
      `${paths.dispatch}/`,
      '/api/v1/secure/Dispatch',
      `/x?${paths.dispatch}`,
      '/api/v1/secure%2fdispatch',
    ]) {
      expect(await statusOf(target), target).toBe(404)
    }
    const put = `PUT ${paths.dispatch}# HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`
    expect((await rawResponse(port, put)).status).toBe(405)
  })

  it('dispatch request without a Host header is refused in HTTP/1.1 and accepted in HTTP/1.0', async () => {
    const port = await listening()
    const { seal } = await wireSession(server.send)
    const { body } = seal(call)
    const rest = `Content-Length: ${body.length}\r\n\r\n${body}`
    const without = sealedHead.replace('Host: x\r\n', '')
    const refused = await rawResponse(port, without + rest)
    expect([refused.status, refused.code]).toEqual([400, 'VALIDATION_FAILED'])
    expect((await rawResponse(port, without.replace('HTTP/1.1', 'HTTP/1.0') + rest)).status).toBe(200)
  })

  it('dispatch request refused with 503 or 500 does not use its rid and can be repeated', async () => {
    await server.close()
    const sessions = memorySessions<ServerSession>()
    const errors: unknown[] = [new StoreUnavailable('away'), new Error('a bug')]
    const failing = {
      ...sessions,
      use: async (sid: string, rid: string) => {
        const error = errors.shift()
        if (error !== undefined) throw error
        return sessions.use(sid, rid)
      },
    }
    server = testApp({ store, secure: { ...testDeps({ store }).secure, sessions: failing } })
    const { seal } = await wireSession(server.send)
    const sent = seal(call)
    const away = await server.send(sent)
    expect([away.status, away.code, away.headers['retry-after']]).toEqual([503, 'SERVICE_UNAVAILABLE', '1'])
    const bug = await server.send(sent)
    expect([bug.status, bug.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect(server.errors.map(String)).toEqual(['StoreUnavailable: away', 'Error: a bug'])
    expect((await server.send(sent)).status).toBe(200)
  })

  it('refused dispatch request is logged with its request id, and its response forbids caching', async () => {
    const refused = await server.send({ method: 'POST', path: paths.dispatch, headers: json, body: '{}' })
    const { requestId } = refused.envelope
    expect(refused.headers).toMatchObject({ 'cache-control': 'no-store', 'x-request-id': requestId })
    expect(refused.headers['content-type']).toBe('application/json; charset=utf-8')
    let log = ''
    for await (const line of server.deps.requestLog.stream(false)) log += String(line)
    expect(JSON.parse(log)).toMatchObject({
      request_id: requestId,
      endpoint: 'secure.dispatch',
      method: 'POST',
      path: paths.dispatch,
      status: 415,
      code: 'UNSUPPORTED_MEDIA_TYPE',
    })
  })
})

describe('encrypted sessions', () => {
  it('encrypted session ends after 600 s', { tags: ['bootstrap-and-session/1', 'dispatch-order/2'] }, async () => {
    const { seal } = await wireSession(server.send)
    const call = { method: 'GET', path: contract.templates.list.path }
    server.clock.advance(599_999)
    expect((await server.send(seal(call, server.clock.now()))).status).toBe(200)
    server.clock.advance(1)
    const expired = await server.send(seal(call, server.clock.now()))
    await server.deps.secure.sessions.deleteExpired(server.clock.now())
    const forgotten = await server.send(seal(call, server.clock.now()))
    expect([expired.status, expired.code]).toEqual([409, 'SECURE_SESSION_EXPIRED'])
    expect(forgotten.sameness).toBe(expired.sameness)
  })

  it('bootstrap names the key that a rotation made current', { tags: 'server-keys/1' }, async () => {
    const kid = async () => JSON.parse((await server.send({ method: 'GET', path: paths.bootstrap })).text).kid
    const first = await kid()
    await server.deps.secure.keys.rotate(server.clock.now())
    expect(await kid()).not.toBe(first)
  })

  it('dispatch request in an evicted session is refused as expired', { tags: 'dispatch-order/2' }, async () => {
    await server.close()
    const sessions = memorySessions<ServerSession>({ sessions: 1, ridsOfSession: 10, rids: 10 })
    server = testApp({ store, secure: { ...testDeps({ store }).secure, sessions } })
    const first = await wireSession(server.send)
    const call = { method: 'GET', path: contract.templates.list.path }
    const used = first.seal(call)
    expect((await server.send(used)).status).toBe(200)
    const second = await wireSession(server.send)
    expect((await server.send(used)).code).toBe('SECURE_SESSION_EXPIRED')
    expect((await server.send(first.seal(call))).code).toBe('SECURE_SESSION_EXPIRED')
    for (let uses = 0; uses < 10; uses++) await server.send(second.seal(call))
    expect((await server.send(second.seal(call))).code).toBe('SECURE_SESSION_EXPIRED')
  })

  it('encrypted session with a successful call outlives any number of sessions without one', async () => {
    await server.close()
    const sessions = memorySessions<ServerSession>({ sessions: 3, ridsOfSession: 10, rids: 20 })
    server = testApp({ store, secure: { ...testDeps({ store }).secure, sessions } })
    const { token } = await newTenant(server)
    const honest = await wireSession(server.send)
    const call = { method: 'GET', path: contract.templates.list.path }
    const successful = { ...call, headers: { authorization: `Bearer ${token}` } }
    expect((await server.send(honest.seal(successful))).status).toBe(200)
    for (let n = 0; n < 5; n++) {
      const junk = await wireSession(server.send)
      expect((await server.send(junk.seal(call))).status).toBe(200)
    }
    expect((await server.send(honest.seal(successful))).status).toBe(200)
  })

  it('each of 30 envelopes is accepted once when all are sent ten times concurrently', async () => {
    const tenant = await newTenant(server)
    const { seal, open } = await wireSession(server.send)
    const headers = { authorization: `Bearer ${tenant.token}` }
    const envelopes = Array.from({ length: 30 }, () =>
      seal({ method: 'GET', path: contract.templates.list.path, headers }),
    )
    const sent = Array.from({ length: 300 }, (_, n) => envelopes[(n * 7) % 30] as (typeof envelopes)[0])
    // On PostgreSQL all wait for the row of the session, and a call fails that waits longer than its limit for a lock.
    const concurrent = onPostgres ? 90 : 300
    const responses: { it: (typeof sent)[0]; response: ApiResponse }[] = []
    for (let n = 0; n < sent.length; n += concurrent) {
      const some = sent.slice(n, n + concurrent)
      responses.push(...(await Promise.all(some.map(async (it) => ({ it, response: await server.send(it) })))))
    }
    const accepted = responses.filter(({ response }) => response.status === 200)
    expect(new Set(accepted.map(({ it }) => it.body)).size).toBe(30)
    expect(accepted).toHaveLength(30)
    const others = responses.filter(({ response }) => response.status !== 200)
    expect(new Set(others.map(({ response }) => response.code))).toEqual(new Set(['REQUEST_REPLAYED']))
    expect(accepted.every(({ it, response }) => open(it, response).status === 200)).toBe(true)
  })
})

it('decrypted body has success, requestId, data or message', { tags: ['envelope/1', 'dispatch-order/1'] }, async () => {
  const tenant = await newTenant(server)
  const [bot, session] = [await tenant.bot(), await wireSession(server.send)]
  const bodyFor = async ({ method, path }: { method: string; path: string }, credential: string) =>
    JSON.parse((await session.call({ method, path, headers: { authorization: `Bearer ${credential}` } })).text)
  const requestId = expect.stringMatching(/^req_/)
  const ofBot = await bodyFor(contract.bots.updates, bot.token)
  for (const body of [await bodyFor(contract.templates.list, tenant.token), ofBot])
    expect(body).toEqual({ success: true, data: expect.any(Object), requestId })
  for (const call of [contract.templates.list, { method: 'GET', path: paths.bootstrap }])
    expect(await bodyFor(call, 'x')).toMatchObject({ success: false, message: expect.any(String), requestId })
  for (const status of [429, 500]) {
    await tenant.operator(contract.platform.addFault, { endpoint: 'templates.list', kind: 'status', status })
    expect(await bodyFor(contract.templates.list, tenant.token)).toMatchObject({ success: false, requestId })
  }
})

describe('disabled transport', () => {
  beforeEach(async () => {
    await server.close()
    server = testApp({ store, secure: { ...testDeps({ store }).secure, enabled: false } })
  })

  it('disabled transport: bootstrap tells, session and dispatch fail', { tags: 'encrypted-transport/2' }, async () => {
    const bootstrap = await server.send({ method: 'GET', path: paths.bootstrap })
    expect([bootstrap.status, JSON.parse(bootstrap.text).enabled]).toEqual([200, false])
    for (const path of [paths.session, paths.dispatch]) {
      const response = await server.send({ method: 'POST', path, headers: { 'content-type': 'text/plain' }, body: 'x' })
      expect([response.status, response.code]).toEqual([403, 'SECURE_TRANSPORT_DISABLED'])
      expect((await server.send({ method: 'GET', path })).status).toBe(405)
    }
    const tenant = await newTenant(server)
    expect((await tenant.runtime(contract.templates.list, {})).status).toBe(200)
  })
})
