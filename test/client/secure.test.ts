import { describe, expect, it } from 'vitest'
import { createClient, type RetryOptions } from '../../src/client/index.js'
import { type SecureOptions, withSecure } from '../../src/client/secure.js'
import { type Transport, TransportError } from '../../src/client/transport.js'
import { paths, pinOf } from '../../src/secure/index.js'
import {
  type FakeServer,
  json,
  makeFakeServer,
  makeTimers,
  redeem,
  refusal,
  serverKeys,
} from '../secure/fake-server.js'

const START = Date.UTC(2027, 0, 1)
const read = { method: 'GET', path: '/api/v1/open-platform/vouchers/templates', headers: {} }

function setup(options: Partial<SecureOptions> = {}) {
  const server = makeFakeServer(() => START)
  const send = withSecure(server.send, { mode: 'required', now: () => START, ...options })
  return { server, send }
}

/** A typed client of the fake server that retries without a delay. */
function clientOf(server: FakeServer, retry: RetryOptions = {}, transport: Transport = server.send) {
  const sleeps: number[] = []
  const client = createClient({
    baseUrl: 'https://vouchers.example',
    token: 'sop_x',
    transport,
    secure: { mode: 'required', now: () => START },
    retry: { random: () => 0, sleep: async (ms) => void sleeps.push(ms), ...retry },
  })
  return { client, sleeps }
}

const failureOf = (sent: Promise<unknown>) =>
  sent.then(
    () => expect.unreachable('no failure'),
    (error: TransportError) => error,
  )

const credential = { type: 'redeem_code', value: 'CANA-RYCA-NARY-CODE' } as const

describe('encrypted and plain paths', () => {
  it('withSecure encrypts runtime, console and bot requests', {
    tags: ['encrypted-transport/1', 'encrypted-transport/3', 'times/1'],
  }, async () => {
    const { server, send } = setup()
    const base = '/api/v1'
    for (const path of [read.path, `${base}/console/open-platform/apps`, `${base}/bots/getUpdates`, `${base}/x`]) {
      expect((await send({ ...read, path })).status).toBe(200)
    }
    expect(server.count(paths.dispatch)).toBe(4)
    expect(server.processed).toHaveLength(4)
  })

  it('withSecure sends operator calls plain on a trusted channel', { tags: 'encrypted-transport/3' }, async () => {
    const { server, send } = setup({ trustedChannel: true })
    const plain = ['/_platform/v1/reviews?kind=bot', '/healthz', '/readyz', '/metrics']
    for (const path of plain) await send({ ...read, path })
    expect(server.requests.map(({ path }) => path)).toEqual(plain)
  })

  it('withSecure required refuses operator requests on an untrusted channel', { tags: 'client-modes/3' }, async () => {
    const { server, send } = setup()
    const error = await failureOf(send({ ...read, path: '/_platform/v1/reviews' }))
    expect(error).toMatchObject({ kind: 'secure', maybeProcessed: false, secure: { code: 'SECURE_PLAIN_REFUSED' } })
    const { client } = clientOf(server)
    const insecure = createClient({ baseUrl: 'http://vouchers.example', secure: { mode: 'required' } })
    expect(await insecure.platform.reviews()).toMatchObject({ ok: false, code: 'SECURE_PLAIN_REFUSED', status: 0 })
    expect(await insecure.platform.requests()).toMatchObject({ ok: false, code: 'SECURE_PLAIN_REFUSED' })
    expect(await client.platform.reviews()).toMatchObject({ status: 200 })
    expect(server.requests.map(({ path }) => path)).toEqual(['/_platform/v1/reviews'])
  })

  it.each([
    '/api/v1/vouchers/%C3%A4',
    '/api/v2/vouchers',
    '/API/v1/vouchers',
    '//api/v1/vouchers',
    '/api/v1/secure/bootstrap',
    '/_platform/../api/v1/vouchers',
    '/_platform/%2E%2e/api/v1/vouchers',
    '/',
  ])('the path %s is rejected unsent, in auto mode too', { tags: 'encrypted-transport/1' }, async (path) => {
    const { server, send } = setup({ trustedChannel: true })
    const error = await failureOf(send({ ...read, path }))
    expect(error).toMatchObject({ kind: 'secure', maybeProcessed: false, secure: { phase: 'local', part: 'path' } })
    expect(server.requests).toEqual([])
    const auto = setup({ mode: 'auto', trustedChannel: true })
    expect(await failureOf(auto.send({ ...read, path }))).toMatchObject({ secure: { phase: 'local' } })
    expect(auto.server.processed).toEqual([])
  })

  it('the client returns INVALID_INPUT for a path or body size that cannot be encrypted', async () => {
    const server = makeFakeServer(() => START)
    const { client } = clientOf(server)
    const umlaut = await client.vouchers.redemption({ redemptionId: 'ä' })
    expect(umlaut).toMatchObject({ code: 'INVALID_INPUT', status: 0, retryable: false, outcomeUnknown: false })
    expect(umlaut).toMatchObject({ details: { reason: 'SECURE_REQUEST_INVALID', part: 'path' } })
    expect(server.requests).toEqual([])
    const large = await client.vouchers.redeem({ credential, reference: 'x'.repeat(262_144) })
    expect(large).toMatchObject({ code: 'INVALID_INPUT', details: { reason: 'SECURE_ENVELOPE_TOO_LARGE' } })
    expect(server.count(paths.dispatch)).toBe(0)
  })
})

describe('failures of encrypted calls', () => {
  it.each(['refused', 'untrusted', 'lost', 'timeout'] as const)(
    'withSecure returns network failure "%s", with maybeProcessed true only after a dispatch',
    async (kind) => {
      for (const at of [paths.bootstrap, paths.session, paths.dispatch]) {
        const { server, send } = setup()
        server.intercept = (request, next) => {
          if (request.path === at) throw new TransportError(kind, 'The wire broke')
          return next()
        }
        const error = await failureOf(send(redeem))
        const doubtful = at === paths.dispatch && kind !== 'refused' && kind !== 'untrusted'
        expect(error).toMatchObject({ kind, maybeProcessed: doubtful })
        expect(error.secure).toBeUndefined()
        expect(error.message).toContain('The wire broke')
      }
    },
  )

  it('a protocol failure contains its code, the protocol phase and the HTTP status', async () => {
    const { server, send } = setup()
    server.intercept = (request, next) => (request.path === paths.dispatch ? refusal(400, 'DECRYPTION_FAILED') : next())
    expect(await failureOf(send(redeem))).toMatchObject({
      name: 'TransportError',
      kind: 'secure',
      maybeProcessed: false,
      secure: { code: 'DECRYPTION_FAILED', phase: 'dispatch', status: 400, retryable: false },
    })
  })

  it('withSecure returns SECURE_ANSWER_REFUSED for an unencrypted error', { tags: 'client-modes/6' }, async () => {
    const server = makeFakeServer(() => START)
    const { client } = clientOf(server)
    server.intercept = (request, next) =>
      request.path === paths.dispatch ? refusal(409, 'VOUCHER_ALREADY_REDEEMED') : next()
    expect(await client.vouchers.redeem({ credential })).toMatchObject({ code: 'SECURE_ANSWER_REFUSED', status: 409 })
  })

  it('withSecure returns HTTP_500 for an unencrypted error whose code does not match its status', async () => {
    const server = makeFakeServer(() => START)
    const { client } = clientOf(server, { tries: 1 })
    server.intercept = () => refusal(500, 'TOKEN_INVALID')
    expect(await client.vouchers.redeem({ credential })).toMatchObject({ code: 'HTTP_500', status: 500 })
  })

  it.each([
    ['a 200 without the envelope', json(200, { ok: 'captive portal' })],
    ['an empty 200', { status: 200, headers: {}, body: '' }],
    ['a success without data', json(200, { success: true })],
    ['a success without an id', json(200, { success: true, data: { status: 'succeeded' } })],
    ['a 404 without the envelope', json(404, { message: 'no such page' })],
  ])('%s inside the encryption returns INVALID_RESPONSE with outcomeUnknown true', async (_what, response) => {
    const server = makeFakeServer(() => START)
    server.respond = () => response
    const { client } = clientOf(server)
    const outcome = await client.vouchers.redeem({ credential })
    expect(outcome).toMatchObject({
      ok: false,
      code: 'INVALID_RESPONSE',
      status: response.status,
      outcomeUnknown: true,
    })
    expect(server.processed).toHaveLength(1)
  })

  it('withSecure rethrows the same exception if it is not a TransportError', async () => {
    const bug = new RangeError('a bug')
    const send = withSecure(() => Promise.reject(bug), { mode: 'required' })
    await expect(send(redeem)).rejects.toBe(bug)
  })
})

describe('retries of encrypted calls', () => {
  it('each retry by withSecure encrypts the same request in a new envelope', { tags: 'client-modes/1' }, async () => {
    const server = makeFakeServer(() => START)
    const { client } = clientOf(server)
    let failures = 2
    server.respond = () =>
      failures-- > 0
        ? refusal(503, 'SERVICE_UNAVAILABLE')
        : json(200, { success: true, data: { id: 'rdm_1', status: 'succeeded' } })
    expect(await client.vouchers.redeem({ credential }, { idempotencyKey: 'k' })).toMatchObject({ ok: true })
    const envelopes = server.requests.filter(({ path }) => path === paths.dispatch).map(({ body = '' }) => body)
    expect(new Set(envelopes.map((it) => JSON.parse(it).rid)).size).toBe(3)
    expect(new Set(envelopes.map((it) => JSON.parse(it).iv)).size).toBe(3)
    expect(new Set(server.processed.map((it) => JSON.stringify(it))).size).toBe(1)
    expect(server.count(paths.session)).toBe(1)
  })

  it('the client retries a dispatch after 15 s without a response if the time limit is 30 s', async () => {
    const server = makeFakeServer(() => START)
    const timers = makeTimers()
    let elapsed = 0
    server.intercept = (request, next) =>
      request.path === paths.dispatch && server.count(paths.dispatch) === 1 ? new Promise(() => {}) : next()
    server.respond = () => json(200, { success: true, data: { id: 'rdm_1', status: 'succeeded' } })
    const client = createClient({
      baseUrl: 'https://vouchers.example',
      transport: server.send,
      secure: { mode: 'required', now: () => START, setTimer: timers.setTimer },
      retry: { random: () => 0, sleep: async () => {}, monotonicMs: () => elapsed },
    })
    const call = client.vouchers.redeem({ credential }, { idempotencyKey: 'k' })
    while (server.count(paths.dispatch) === 0) await new Promise((resolve) => setImmediate(resolve))
    elapsed = 15_000
    timers.fire(15_000)
    expect(await call).toMatchObject({ ok: true })
    expect(server.count(paths.dispatch)).toBe(2)
  })

  it('a mutation without idempotency key is retried if the handshake failed before it was sent', async () => {
    for (const at of [paths.bootstrap, paths.session]) {
      const server = makeFakeServer(() => START)
      const { client } = clientOf(server)
      let failures = 2
      server.intercept = (request, next) => {
        if (request.path === at && failures-- > 0) throw new TransportError('lost', 'The wire broke')
        return next()
      }
      expect(await client.apps.create({ name: 'Shop' })).toMatchObject({ ok: true })
      expect(server.processed).toHaveLength(1)
    }
  })

  it('a mutation without idempotency key is not retried after a lost dispatch (outcome unknown)', async () => {
    const server = makeFakeServer(() => START)
    const { client } = clientOf(server)
    server.intercept = (request, next) => {
      const response = next()
      if (request.path === paths.dispatch) throw new TransportError('lost', 'The wire broke')
      return response
    }
    expect(await client.apps.create({ name: 'Shop' })).toMatchObject({ code: 'NETWORK_ERROR', outcomeUnknown: true })
    expect(server.processed).toHaveLength(1)
    // A redemption has an idempotency key, so the client does retry it.
    await client.vouchers.redeem({ credential })
    expect(server.processed).toHaveLength(5)
  })

  it('client retries a 429 of the handshake, and then returns RATE_LIMITED', { tags: 'client-modes/6' }, async () => {
    const server = makeFakeServer(() => START)
    const { client, sleeps } = clientOf(server, { tries: 3 })
    const limited = refusal(429, 'RATE_LIMITED')
    server.intercept = () => ({ ...limited, headers: { ...limited.headers, 'retry-after': '7' } })
    expect(await client.apps.create({ name: 'Shop' })).toMatchObject({
      code: 'RATE_LIMITED',
      status: 429,
      retryable: true,
      outcomeUnknown: false,
      details: { phase: 'bootstrap' },
    })
    expect(sleeps).toEqual([7000, 7000])
  })

  it('the client retries neither a refused dispatch nor one with an unverifiable response', async () => {
    for (const response of [refusal(400, 'DECRYPTION_FAILED'), json(200, { success: true, data: {} })]) {
      const server = makeFakeServer(() => START)
      const { client } = clientOf(server)
      server.intercept = (request, next) => (request.path === paths.dispatch ? response : next())
      expect(await client.vouchers.redeem({ credential })).toMatchObject({ ok: false })
      expect(server.count(paths.dispatch)).toBe(1)
    }
  })
})

describe('modes off, auto and required', () => {
  it('withSecure in mode off sends plain text and turns on downgrade protection after a 426', async () => {
    let latched = 0
    const downgradeProtection = { isSet: () => latched > 0, set: () => void (latched += 1) }
    const { server, send } = setup({ mode: 'off', downgradeProtection })
    expect((await send(redeem)).status).toBe(200)
    expect(latched).toBe(0)
    server.respond = () => refusal(426, 'SECURE_TRANSPORT_REQUIRED')
    expect((await send(redeem)).status).toBe(426)
    expect(latched).toBe(1)
    expect(server.requests.map(({ path }) => path)).toEqual([redeem.path, redeem.path])
  })

  it('withSecure auto uses plain text only on trusted channels without downgrade protection', async () => {
    const downgradeProtection = { isSet: () => true, set: () => {} }
    for (const [options, plain] of [
      [{ trustedChannel: true }, true],
      [{ trustedChannel: false }, false],
      [{ trustedChannel: true, downgradeProtection }, false],
    ] as const) {
      const { server, send } = setup({ mode: 'auto', ...options })
      server.enabled = false
      if (plain) expect((await send(redeem)).status).toBe(200)
      else expect(await failureOf(send(redeem))).toMatchObject({ secure: { code: 'SECURE_TRANSPORT_DISABLED' } })
      expect(server.count(redeem.path)).toBe(plain ? 1 : 0)
    }
  })

  it('withSecure sends the origin option and throws TypeError for malformed origins and pins', async () => {
    const origin = 'https://shop.example'
    const pins = [pinOf(Buffer.from(serverKeys[0].publicKey, 'base64url'))]
    const { server, send } = setup({ origin, pins })
    await send(redeem)
    expect(server.requests.map(({ headers }) => headers.origin)).toEqual([undefined, origin, origin])
    const pin = pins[0] as string
    for (const options of [
      { origin: 'https://shop.example/' },
      { pins: [pin.slice(0, -1)] },
      { pins: [`${pin.slice(0, -1)}B`] },
      { pins: [pin, pin, pin] },
    ]) {
      expect(() => setup(options)).toThrow(TypeError)
    }
  })
})
