import { describe, expect, it, test } from 'vitest'
import type { HttpRequest, SecureSessionOptions } from '../../../src/secure/index.js'
import * as secure from '../../../src/secure/index.js'
import { json, makeFakeServer, makeRandom, makeTimers, redeem, refusal, serverKeys } from '../fake-server.js'

const START = Date.UTC(2027, 0, 1)

function setup(options: Partial<SecureSessionOptions> = {}) {
  const clock = { client: START, server: START }
  const server = makeFakeServer(() => clock.server)
  const timers = makeTimers()
  const session = secure.createSecureSession({
    mode: 'required',
    send: server.send,
    now: () => clock.client,
    randomBytes: makeRandom('client'),
    setTimer: timers.setTimer,
    ...options,
  })
  const advance = (ms: number) => {
    clock.client += ms
    clock.server += ms
  }
  return { clock, server, session, timers, advance, send: () => session.send(redeem) }
}

const { bootstrap, session: sessionPath, dispatch } = secure.paths
const envelopesOf = (requests: readonly HttpRequest[]) =>
  requests.filter(({ path }) => path === dispatch).map(({ body = '' }) => JSON.parse(body) as secure.Envelope)

describe('encrypted call', () => {
  it('encrypted call runs bootstrap, session and dispatch, and returns the inner response', async () => {
    const { server, send, timers } = setup()
    expect(await send()).toEqual({
      ok: true,
      encrypted: true,
      succeeded: true,
      response: {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: '{"success":true,"data":{"redeemable":true},"requestId":"req_1"}',
      },
    })
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET ${bootstrap}`,
      `POST ${sessionPath}`,
      `POST ${dispatch}`,
    ])
    const { 'user-agent': _, ...headers } = redeem.headers
    expect(server.processed).toEqual([
      { method: 'POST', path: redeem.path, query: [], headers, body: JSON.parse(redeem.body ?? '') },
    ])
    expect(timers.running()).toBe(0)
  })

  it('encrypted call sends its query with repeated names as arrays', { tags: 'inner-requests/1' }, async () => {
    const { server, session } = setup()
    await session.send({ method: 'GET', path: '/api/v1/x?a=1&b=%26&b=2&__proto__=p', headers: {} })
    expect(server.processed[0]?.query).toEqual([
      ['a', '1'],
      ['b', '&'],
      ['b', '2'],
      ['__proto__', 'p'],
    ])
  })

  it('encrypted call that the endpoint refuses returns `succeeded: false`', { tags: 'inner-responses/1' }, async () => {
    const { server, send } = setup()
    server.respond = () => refusal(409, 'VOUCHER_ALREADY_REDEEMED')
    expect(await send()).toMatchObject({ ok: true, encrypted: true, succeeded: false, response: { status: 409 } })
    server.respond = () => json(200, { success: false, code: 'X' })
    expect(await send()).toMatchObject({ ok: true, succeeded: false, response: { status: 200 } })
  })

  it('second encrypted call reuses the session with a new rid and IV', { tags: 'envelopes/1' }, async () => {
    const { server, send } = setup()
    for (let i = 0; i < 3; i++) expect((await send()).ok).toBe(true)
    expect(server.count(sessionPath)).toBe(1)
    const envelopes = envelopesOf(server.requests)
    expect(new Set(envelopes.map(({ rid }) => rid)).size).toBe(3)
    expect(new Set(envelopes.map(({ iv }) => iv)).size).toBe(3)
    expect(new Set(envelopes.map(({ sid }) => sid)).size).toBe(1)
  })

  it('session and dispatch requests send the origin that binds the keys', { tags: 'session-origins/1' }, async () => {
    const { server, send } = setup({ origin: 'https://console.example' })
    expect((await send()).ok).toBe(true)
    expect(server.requests.map(({ headers }) => headers.origin)).toEqual([
      undefined,
      'https://console.example',
      'https://console.example',
    ])
  })

  it("call is dated by the server's clock if the client's is an hour off", { tags: 'client-modes/2' }, async () => {
    for (const off of [-3_600_000, 3_600_000]) {
      const { server, send, clock, advance } = setup()
      clock.client += off
      expect((await send()).ok).toBe(true)
      advance(594_999)
      expect((await send()).ok).toBe(true)
      expect(server.count(sessionPath)).toBe(1)
      expect(envelopesOf(server.requests).map(({ ts }) => ts)).toEqual([START, START + 594_999])
    }
  })

  it('transport responses are accepted even if the usual response envelope wraps them', async () => {
    const { server, send } = setup()
    server.intercept = (_, next) => {
      const response = next()
      return { ...response, body: JSON.stringify({ success: true, data: JSON.parse(response.body), requestId: 'r' }) }
    }
    expect(await send()).toMatchObject({ ok: true, encrypted: true })
  })
})

describe('session renewal', () => {
  it('client renews session 5 s before its end', { tags: ['client-modes/1', 'bootstrap-and-session/1'] }, async () => {
    const { server, send, advance } = setup()
    await send()
    advance(594_999)
    await send()
    expect(server.count(sessionPath)).toBe(1)
    advance(1)
    expect((await send()).ok).toBe(true)
    const keys = server.requests.filter(({ path }) => path === sessionPath).map(({ body }) => body)
    expect(new Set(keys).size).toBe(2)
  })

  it('client opens one session for 100 concurrent calls, at first and at the renewal', async () => {
    const { server, send, advance } = setup()
    const burst = async () => (await Promise.all(Array.from({ length: 100 }, send))).every(({ ok }) => ok)
    expect(await burst()).toBe(true)
    expect([server.count(bootstrap), server.count(sessionPath)]).toEqual([1, 1])
    advance(595_000)
    expect(await burst()).toBe(true)
    expect([server.count(bootstrap), server.count(sessionPath)]).toEqual([2, 2])
    expect(server.count(dispatch)).toBe(200)
    expect(server.processed).toHaveLength(200)
  })

  it('client opens one session and resends each call once if the server loses its sessions', async () => {
    const { server, send } = setup()
    await send()
    server.sessions.clear()
    const outcomes = await Promise.all(Array.from({ length: 100 }, send))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(server.count(sessionPath)).toBe(2)
    expect(server.count(dispatch)).toBe(201)
    expect(server.processed).toHaveLength(101)
  })

  it('late SECURE_SESSION_EXPIRED for the old session does not end the renewed session', async () => {
    const { server, send } = setup()
    await send()
    server.sessions.clear()
    let release = () => {}
    let held = false
    server.intercept = (request, next) => {
      if (request.path !== dispatch || held) return next()
      held = true
      return new Promise((resolve) => {
        release = () => resolve(next())
      })
    }
    const late = send()
    while (!held) await Promise.resolve()
    expect((await send()).ok).toBe(true)
    release()
    expect((await late).ok).toBe(true)
    expect(server.count(sessionPath)).toBe(2)
  })

  it('session that cannot be opened fails every waiting call; the next call tries again', async () => {
    const { server, send } = setup()
    server.intercept = () => refusal(503, 'SERVICE_UNAVAILABLE')
    const outcomes = await Promise.all([send(), send(), send()])
    const failure = { ok: false, code: 'SECURE_ANSWER_REFUSED', phase: 'bootstrap', outerResponse: { status: 503 } }
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ...failure, maybeProcessed: false })
    expect(server.requests).toHaveLength(1)
    server.intercept = (_, next) => next()
    expect((await send()).ok).toBe(true)
  })

  it('client uses the new server key if the server rotated it between bootstrap and session', async () => {
    const { server, send, advance } = setup()
    await send()
    server.intercept = (request, next) => {
      const response = next()
      if (request.path === bootstrap) {
        server.grace = [server.key]
        server.key = serverKeys[1]
      }
      return response
    }
    advance(600_000)
    expect((await send()).ok).toBe(true)
    advance(600_000)
    expect((await send()).ok).toBe(true)
    expect(envelopesOf(server.requests).map(({ kid }) => kid)).toEqual([
      serverKeys[0].kid,
      serverKeys[0].kid,
      serverKeys[1].kid,
    ])
  })
})

describe('resend of an encrypted call', () => {
  it.each(['SECURE_SESSION_EXPIRED', 'SECURE_SESSION_MISMATCH'])(
    'client resends a call once after %s, with a new session, rid, IV and timestamp',
    { tags: 'client-modes/1' },
    async (code) => {
      const { server, send, advance } = setup()
      await send()
      let left = 1
      server.intercept = (request, next) => {
        if (request.path !== dispatch || left === 0) return next()
        left -= 1
        advance(10)
        return refusal(409, code)
      }
      expect((await send()).ok).toBe(true)
      const [, first, second] = envelopesOf(server.requests)
      for (const field of ['sid', 'rid', 'iv', 'ts', 'ciphertext'] as const) {
        expect(second?.[field]).not.toBe(first?.[field])
      }
      expect(server.processed[1]).toEqual(server.processed[0])
    },
  )

  it('client resends no call twice', { tags: ['client-modes/1', 'encrypted-transport/1'] }, async () => {
    const { server, send } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? refusal(409, 'SECURE_SESSION_EXPIRED') : next())
    expect(await send()).toMatchObject({ ok: false, code: 'SECURE_SESSION_EXPIRED', maybeProcessed: false })
    expect(server.count(dispatch)).toBe(2)
    expect(server.count(sessionPath)).toBe(2)
  })

  it.each([
    [400, 'REQUEST_TIMESTAMP_OUT_OF_RANGE', 2],
    [400, 'DECRYPTION_FAILED', 2],
    [403, 'SECURE_SESSION_ORIGIN_MISMATCH', 1],
    [409, 'REQUEST_REPLAYED', 1],
    [400, 'SECURE_ENVELOPE_INVALID', 1],
  ] as const)(
    'client does not resend a call after %i %s; the next call uses session number %i',
    async (status, code, sessions) => {
      const { server, send } = setup()
      server.intercept = (request, next) => (request.path === dispatch ? refusal(status, code) : next())
      const maybeProcessed = code === 'REQUEST_REPLAYED'
      expect(await send()).toMatchObject({ ok: false, code, phase: 'dispatch', maybeProcessed })
      expect(server.count(dispatch)).toBe(1)
      server.intercept = (_, next) => next()
      expect((await send()).ok).toBe(true)
      expect(server.count(sessionPath)).toBe(sessions)
    },
  )

  it('client does not resend a call after a network error and returns the cause', async () => {
    const { server, send } = setup()
    for (const [error, maybeProcessed] of [
      [new Error('reset'), true],
      [Object.assign(new Error('refused'), { maybeProcessed: false }), false],
    ] as const) {
      server.intercept = (request, next) => {
        if (request.path === dispatch) throw error
        return next()
      }
      const count = server.count(dispatch)
      expect(await send()).toMatchObject({ ok: false, code: 'SECURE_NO_ANSWER', maybeProcessed, cause: error })
      expect(server.count(dispatch)).toBe(count + 1)
    }
  })

  it('client measures the clock again after REQUEST_TIMESTAMP_OUT_OF_RANGE', { tags: 'client-modes/2' }, async () => {
    const { server, send, clock } = setup()
    await send()
    clock.server += 120_000
    expect(await send()).toMatchObject({ ok: false, code: 'REQUEST_TIMESTAMP_OUT_OF_RANGE' })
    expect((await send()).ok).toBe(true)
    expect(server.count(bootstrap)).toBe(2)
  })
})

describe('timeouts of encrypted calls', () => {
  it('encrypted call without a response times out and is reported as possibly processed', async () => {
    const { server, session, timers } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? new Promise(() => {}) : next())
    const call = session.send({ ...redeem, timeoutMs: 2_000 })
    while (server.count(dispatch) === 0) await Promise.resolve()
    timers.fire(1_999)
    timers.fire(2_000)
    expect(await call).toMatchObject({ code: 'SECURE_TIMEOUT', phase: 'dispatch', maybeProcessed: true })
    expect(server.requests.at(-1)?.signal?.aborted).toBe(true)
  })

  it('call times out while the client opens a session; other waiting calls get the session', async () => {
    const { server, session, send, timers } = setup()
    let respond = () => {}
    server.intercept = (request, next) =>
      request.path === bootstrap
        ? new Promise((resolve) => {
            respond = () => resolve(next())
          })
        : next()
    const hasty = session.send({ ...redeem, timeoutMs: 100 })
    const patient = send()
    await Promise.resolve()
    timers.fire(100)
    expect(await hasty).toMatchObject({ code: 'SECURE_TIMEOUT', phase: 'bootstrap', maybeProcessed: false })
    respond()
    expect((await patient).ok).toBe(true)
    // The client must not send a call after its timeout.
    expect(server.count(dispatch)).toBe(1)
    expect(server.processed).toHaveLength(1)
  })

  it('opening of a session times out after 15 s', async () => {
    const { server, send, session, timers } = setup()
    server.intercept = () => new Promise(() => {})
    const call = session.send({ ...redeem, timeoutMs: 60_000 })
    await Promise.resolve()
    timers.fire(15_000)
    expect(await call).toMatchObject({ code: 'SECURE_TIMEOUT', maybeProcessed: false })
    server.intercept = (_, next) => next()
    expect((await send()).ok).toBe(true)
  })

  it.each([0, 3_600_000, -3_600_000])(
    'client measures a server clock %i ms ahead as of the middle of the bootstrap exchange',
    async (ahead) => {
      const { server, clock, advance, send } = setup()
      clock.server += ahead
      server.intercept = (request, next) => {
        if (request.path !== bootstrap) return next()
        advance(20_000)
        const response = next()
        advance(20_000)
        return response
      }
      expect((await send()).ok).toBe(true)
      expect(envelopesOf(server.requests).map(({ ts }) => ts)).toEqual([clock.server])
    },
  )

  it('attempt of a call with a timeout of 30 s ends after 15 s, which leaves time for a retry', async () => {
    const { server, session, timers } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? new Promise(() => {}) : next())
    const call = session.send({ ...redeem, timeoutMs: 30_000 })
    while (server.count(dispatch) === 0) await Promise.resolve()
    timers.fire(15_000)
    expect(await call).toMatchObject({ code: 'SECURE_TIMEOUT', phase: 'dispatch', maybeProcessed: true })
    expect(server.requests.at(-1)?.signal?.aborted).toBe(true)
  })

  it('encrypted call without its own timeout times out after 15 s', async () => {
    const { server, send, timers } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? new Promise(() => {}) : next())
    const call = send()
    while (server.count(dispatch) === 0) await Promise.resolve()
    timers.fire(14_999)
    expect(timers.running()).toBe(1)
    timers.fire(15_000)
    expect(await call).toMatchObject({ code: 'SECURE_TIMEOUT' })
  })

  it('opening of a session ends when its last waiting call is aborted; the next call restarts it', async () => {
    const { server, session, send } = setup()
    server.intercept = () => new Promise(() => {})
    const abort = new AbortController()
    const calls = [1, 2].map(() => session.send({ ...redeem, signal: abort.signal }))
    const third = new AbortController()
    const last = session.send({ ...redeem, signal: third.signal })
    await Promise.resolve()
    abort.abort()
    expect(await Promise.all(calls)).toMatchObject([{ code: 'SECURE_ABORTED' }, { code: 'SECURE_ABORTED' }])
    expect(server.requests.map(({ signal }) => signal?.aborted)).toEqual([false])
    third.abort()
    expect(await last).toMatchObject({ code: 'SECURE_ABORTED', maybeProcessed: false })
    expect(server.requests.map(({ signal }) => signal?.aborted)).toEqual([true])
    server.intercept = (_request, next) => next()
    expect(await send()).toMatchObject({ ok: true })
    expect(server.count(bootstrap)).toBe(2)
  })

  it('encrypted call ends immediately when aborted, and is never sent if aborted before', async () => {
    const { server, session } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? new Promise(() => {}) : next())
    const abort = new AbortController()
    const call = session.send({ ...redeem, signal: abort.signal })
    while (server.count(dispatch) === 0) await Promise.resolve()
    abort.abort()
    expect(await call).toMatchObject({ code: 'SECURE_ABORTED', phase: 'dispatch', maybeProcessed: true })
    const count = server.requests.length
    const late = await session.send({ ...redeem, signal: abort.signal })
    expect(late).toMatchObject({ code: 'SECURE_ABORTED', phase: 'local', maybeProcessed: false })
    expect(server.requests).toHaveLength(count)
  })
})

describe('negotiation of concurrent calls', () => {
  it('end of an abandoned negotiation does not hide a later negotiation', async () => {
    const { server, session, send } = setup()
    const waiting: (() => void)[] = []
    server.intercept = (request, next) =>
      request.path === bootstrap ? new Promise((resolve) => waiting.push(() => resolve(next()))) : next()
    const abort = new AbortController()
    const abandoned = session.send({ ...redeem, signal: abort.signal })
    while (waiting.length < 1) await Promise.resolve()
    abort.abort()
    expect((await abandoned).ok).toBe(false)
    const second = send()
    while (waiting.length < 2) await Promise.resolve()
    const third = send()
    for (const respond of waiting) respond()
    expect([await second, await third]).toMatchObject([{ ok: true }, { ok: true }])
    expect(server.count(bootstrap)).toBe(2)
  })

  it('call that is aborted while its lost session is reported starts no other negotiation', async () => {
    const { server, session } = setup()
    const abort = new AbortController()
    server.intercept = (request, next) => {
      if (request.path !== dispatch) return next()
      abort.abort()
      return refusal(409, 'SECURE_SESSION_EXPIRED')
    }
    expect(await session.send({ ...redeem, signal: abort.signal })).toMatchObject({ code: 'SECURE_ABORTED' })
    for (let tick = 0; tick < 100; tick++) await Promise.resolve()
    expect(server.count(bootstrap)).toBe(1)
  })

  it('negotiation that times out fails its calls with SECURE_TIMEOUT', async () => {
    const timers: (() => void)[] = []
    const { server, send } = setup({ setTimer: (run) => (timers.push(run), () => {}) })
    server.intercept = () => new Promise(() => {})
    const call = send()
    while (server.count(bootstrap) === 0) await Promise.resolve()
    // The first timer belongs to the call, the second to the negotiation.
    timers[1]?.()
    expect(await call).toMatchObject({ ok: false, code: 'SECURE_TIMEOUT', phase: 'bootstrap', maybeProcessed: false })
  })

  it.each(['bootstrap', 'session'] as const)(
    'network error in the %s request is reported with this phase',
    async (phase) => {
      const { server, send } = setup()
      server.intercept = (request, next) =>
        request.path === secure.paths[phase] ? Promise.reject(new Error('lost')) : next()
      expect(await send()).toMatchObject({ code: 'SECURE_NO_ANSWER', phase, maybeProcessed: false })
    },
  )

  it('response that cannot be verified makes the next call negotiate again', async () => {
    const { server, send } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? json(200, {}) : next())
    const invalid = { code: 'SECURE_ANSWER_INVALID', phase: 'dispatch', maybeProcessed: true }
    expect(await send()).toMatchObject(invalid)
    expect(await send()).toMatchObject(invalid)
    expect(server.count(bootstrap)).toBe(2)
  })
})

describe('plain text in mode auto', () => {
  it('mode auto sends no plain text unless the channel is said to be trusted', async () => {
    const { server, send } = setup({ mode: 'auto' })
    server.enabled = false
    expect(await send()).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_DISABLED' })
    expect(server.processed).toEqual([])
  })

  it('mode auto sends no plain text after it has encrypted a call, by default', async () => {
    const { server, send, advance } = setup({ mode: 'auto', trustedChannel: true })
    expect(await send()).toMatchObject({ ok: true, encrypted: true })
    server.enabled = false
    advance(600_000)
    expect(await send()).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_DISABLED' })
  })

  it('call in plain text that times out may have been processed', async () => {
    const { server, send, timers } = setup({ mode: 'auto', trustedChannel: true })
    server.enabled = false
    server.intercept = (request, next) => (request.path === bootstrap ? next() : new Promise(() => {}))
    const call = send()
    while (server.count(redeem.path) === 0) await Promise.resolve()
    timers.fire(15_000)
    expect(await call).toMatchObject({ code: 'SECURE_TIMEOUT', phase: 'plain', maybeProcessed: true })
  })

  it('mode auto refuses a request that does not fit the encrypted transport of the server', async () => {
    const { server, session } = setup({ mode: 'auto', trustedChannel: true })
    const outcome = await session.send({ ...redeem, path: '/healthz' })
    expect(outcome).toMatchObject({ code: 'SECURE_REQUEST_INVALID', phase: 'local', part: 'path' })
    expect(server.processed).toEqual([])
  })

  it.each([
    [426, 'SECURE_TRANSPORT_REQUIRED', true],
    [426, 'OTHER', false],
    [403, 'SECURE_TRANSPORT_REQUIRED', false],
  ])('plain call that gets %i with %s turns on downgrade protection: %s', async (status, code, expected) => {
    let isSet = false
    const downgradeProtection = {
      isSet: () => isSet,
      set: () => {
        isSet = true
      },
    }
    const { server, send } = setup({ mode: 'off', downgradeProtection })
    server.respond = () => refusal(status, code)
    expect(await send()).toMatchObject({ ok: true, encrypted: false })
    expect(isSet).toBe(expected)
  })
})

describe('key pins', () => {
  const pinOf = (index: 0 | 1) => secure.pinOf(Buffer.from(serverKeys[index].publicKey, 'base64url'))

  it('client accepts a server key that matches one of up to two pins', { tags: 'key-pins/1' }, async () => {
    for (const pins of [[pinOf(0)], [pinOf(1), pinOf(0)]]) {
      const { send } = setup({ pins })
      expect((await send()).ok).toBe(true)
    }
  })

  it('client with pins refuses another server key before it requests a session', { tags: 'key-pins/1' }, async () => {
    const { send, server } = setup({ pins: [pinOf(1)] })
    expect(await send()).toMatchObject({ ok: false, code: 'SECURE_PIN_MISMATCH', maybeProcessed: false })
    expect(server.requests.map(({ path }) => path)).toEqual([bootstrap])
  })

  it.each([
    ['three pins', [pinOf(0), pinOf(1), pinOf(0)]],
    ['one pin without its prefix', [pinOf(0).slice(7)]],
    ['one pin with a symbol before its prefix', [`x${pinOf(0)}`]],
    ['one pin that is too short', [pinOf(0).slice(0, -1)]],
    ['one pin with a trailing line feed', [`${pinOf(0)}\n`]],
    ['one pin that is not canonical base64url', [`sha256:${'A'.repeat(42)}B`]],
  ])('client rejects the option pins with %s', { tags: 'key-pins/1' }, (_, pins) => {
    expect(() => setup({ pins })).toThrow(new TypeError('At most two pins, sha256: and 43 characters each'))
  })
})

test.each(['console.example', 'https://console.example/', 'https://Console.example', '*', 'null'])(
  'client rejects the option origin %s',
  (origin) => {
    expect(() => setup({ origin })).toThrow(new TypeError('The origin must look like https://host[:port]'))
  },
)

describe('request that cannot be encrypted', { tags: 'client-modes/5' }, () => {
  it.each([
    ['path', { path: '/healthz' }],
    ['path', { path: '/api/v1/secure/dispatch' }],
    ['path', { path: '/api/v1/vouchers/%2e%2e' }],
    ['method', { method: 'OPTIONS' }],
    ['headers', { headers: { host: 'x' } }],
    ['headers', { headers: { authorization: 'a\r\nb: c' } }],
    ['body', { body: 'not JSON' }],
    ['body', { method: 'GET', body: '{}' }],
  ] as const)('call is not sent if its %s is invalid: %j', { tags: 'inner-requests/1' }, async (part, change) => {
    const { server, session } = setup()
    const outcome = await session.send({ ...redeem, ...change })
    expect(outcome).toMatchObject({ ok: false, code: 'SECURE_REQUEST_INVALID', phase: 'local', part })
    expect(server.requests).toEqual([])
  })

  it('encrypted call fails one byte above the size limit, not at the limit', async () => {
    const { server, session } = setup()
    const sized = (length: number) => session.send({ ...redeem, body: JSON.stringify('x'.repeat(length)) })
    let [most, tooMany] = [0, 262_144]
    while (tooMany - most > 1) {
      const middle = Math.floor((most + tooMany) / 2)
      if ((await sized(middle)).ok) most = middle
      else tooMany = middle
    }
    const largest = Math.max(...server.requests.map(({ body = '' }) => Buffer.byteLength(body)))
    expect(largest).toBeLessThanOrEqual(secure.MAX_ENVELOPE_BYTES)
    expect(largest).toBeGreaterThan(secure.MAX_ENVELOPE_BYTES - 4)
    const count = server.requests.length
    const refused = { ok: false, code: 'SECURE_ENVELOPE_TOO_LARGE', phase: 'local', maybeProcessed: false }
    expect(await sized(tooMany)).toMatchObject(refused)
    expect(server.requests).toHaveLength(count)
  })
})
