import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpResponse } from '../../src/secure/index.js'
import * as secure from '../../src/secure/index.js'
import {
  type FakeServer,
  json,
  makeFakeServer,
  makeRandom,
  makeTimers,
  redeem,
  refusal,
  serverKeys,
} from './fake-server.js'

fc.configureGlobal({ seed: 1 })

const START = Date.UTC(2027, 0, 1)
const { bootstrap, session: sessionPath, dispatch } = secure.paths

/** Substrings of the test request that must appear in no request outside the ciphertext. */
const canaries = ['canary', 'CANA', 'redeem', 'sop_', 'credential', 'idempotency', 'authorization', 'vouchers']

function setup(mode: secure.SecureMode = 'required', pins: readonly string[] = []) {
  const server = makeFakeServer(() => START)
  const timers = makeTimers()
  const session = secure.createSecureSession({
    mode,
    pins,
    trustedChannel: true,
    send: server.send,
    now: () => START,
    randomBytes: makeRandom('client'),
    setTimer: timers.setTimer,
  })
  return { server, session, timers }
}

function expectNothingInPlainText({ requests, processed }: FakeServer) {
  for (const { method, path, headers, body = '' } of requests) {
    expect([bootstrap, sessionPath, dispatch]).toContain(path)
    const seen = JSON.stringify([method, path, headers, body])
    expect(canaries.filter((canary) => seen.includes(canary))).toEqual([])
    const allowed = ['accept', 'content-type', 'origin']
    expect(Object.keys(headers).filter((name) => !allowed.includes(name))).toEqual([])
    if (path === dispatch) {
      const fields = ['ciphertext', 'iv', 'kid', 'rid', 'sid', 'suite', 'ts', 'v']
      expect(Object.keys(JSON.parse(body)).sort()).toEqual(fields)
    }
  }
  for (const request of processed) expect(request.body).toEqual(JSON.parse(redeem.body ?? ''))
}

const plainSuccess = json(200, { success: true, data: { redeemable: true }, requestId: 'req_1' })
const never = new Promise<HttpResponse>(() => {})
const description = (change: object) => json(200, { ...secure.describeServer(serverKeys[0], true, START), ...change })

/** Faulty responses, as a broken server or an attacker on the network may send them. */
const responses: readonly (readonly [string, () => HttpResponse | Promise<HttpResponse>])[] = [
  ['is a connection error', () => Promise.reject(new Error('ECONNREFUSED'))],
  ['never arrives', () => never],
  ['has the status 404', () => refusal(404, 'ROUTE_NOT_FOUND')],
  ['has the status 426', () => refusal(426, 'SECURE_TRANSPORT_REQUIRED')],
  ['reports the transport as disabled', () => refusal(403, 'SECURE_TRANSPORT_DISABLED')],
  ['has the status 429', () => json(429, { success: false, code: 'RATE_LIMITED' }, { 'retry-after': '1' })],
  ['has the status 500', () => refusal(500, 'INTERNAL_ERROR')],
  ['has the status 503', () => ({ status: 503, headers: {}, body: '<html>' })],
  ['redirects temporarily', () => ({ status: 307, headers: { location: 'http://evil.example/' }, body: '' })],
  ['redirects permanently', () => ({ status: 301, headers: { location: redeem.path }, body: '' })],
  ['is a success in plain text', () => plainSuccess],
  ['has the status 204', () => ({ status: 204, headers: {}, body: '' })],
  ['is an array', () => ({ status: 200, headers: {}, body: '[]' })],
  ['is null', () => json(200, null)],
]

const bootstraps: typeof responses = [
  ['reports the transport as disabled', () => description({ enabled: false })],
  ['reports in an envelope the transport as disabled', () => json(200, { success: true, data: { enabled: false } })],
  ['has version 2', () => description({ v: 2 })],
  ['has another suite', () => description({ suite: 'P256-HKDF-SHA256-A128GCM' })],
  ['has the number 1 for enabled', () => description({ enabled: 1 })],
  ['has no kid', () => description({ kid: undefined })],
  ['has a kid with a bar', () => description({ kid: 'a|b' })],
  ['has a compressed key', () => description({ serverPublicKey: 'A1gtJ9RuU1whvjBiSlNTuOy4ywuxWT3Of63vzJ9bZXSc' })],
  ['has a key off the curve', () => description({ serverPublicKey: `BA${'A'.repeat(85)}` })],
  ['has a text for its time', () => description({ serverTime: '2027-01-01T00:00:00Z' })],
]

const goodSession = {
  sid: 'ss_AAAAAAAAAAAAAAAAAAAAAA',
  salt: 'A'.repeat(43),
  brand: 'platform',
  origin: '',
  expiresAt: START + 600_000,
}
const sessions: typeof responses = [
  ['has no sid', () => json(200, { ...goodSession, sid: undefined })],
  ['has a sid with a bar', () => json(200, { ...goodSession, sid: 'ss_x|platform' })],
  ['has a brand with a bar', () => json(200, { ...goodSession, brand: 'a|b' })],
  ['has a salt with padding', () => json(200, { ...goodSession, salt: `${'A'.repeat(43)}=` })],
  ['has an empty salt', () => json(200, { ...goodSession, salt: '' })],
  ['is bound to another origin', () => json(200, { ...goodSession, origin: 'https://evil.example' })],
  ['has expired', () => json(200, { ...goodSession, expiresAt: START })],
  ['has a text for its expiry', () => json(200, { ...goodSession, expiresAt: '2027' })],
]

describe.each([
  ['bootstrap', bootstrap, [...responses, ...bootstraps]],
  ['session', sessionPath, [...responses, ...sessions]],
  ['dispatch', dispatch, responses],
] as const)('faulty responses to the %s request in required mode', (_name, path, cases) => {
  it.each(cases)(
    'client in required mode fails and sends no plain text after a response that %s',
    { tags: ['encrypted-transport/1', 'inner-requests/1', 'client-modes/3'] },
    async (_, respond) => {
      const { server, session, timers } = setup()
      server.intercept = (request, next) => (request.path === path ? respond() : next())
      for (let call = 0; call < 2; call++) {
        const outcome = session.send(redeem)
        for (let tick = 0; tick < 100; tick++) await Promise.resolve()
        timers.fire(15_000)
        expect(await outcome).toMatchObject({ ok: false })
      }
      expect(server.count(path)).toBeGreaterThan(0)
      expect(server.processed).toEqual([])
      expectNothingInPlainText(server)
    },
  )
})

describe('required mode', { tags: 'encrypted-transport/1' }, () => {
  it.each(sessions)('client in required mode sends no dispatch if the session response %s', async (_, respond) => {
    const { server, session } = setup()
    server.intercept = (request, next) => (request.path === sessionPath ? respond() : next())
    expect(await session.send(redeem)).toMatchObject({ code: 'SECURE_SESSION_INVALID', phase: 'session' })
    expect(server.count(dispatch)).toBe(0)
  })

  it.each(bootstraps)(
    'client in required mode requests no session if the bootstrap response %s',
    { tags: 'client-modes/2' },
    async (_, respond) => {
      const { server, session } = setup()
      server.intercept = (request, next) => (request.path === bootstrap ? respond() : next())
      expect(await session.send(redeem)).toMatchObject({ ok: false, phase: 'bootstrap' })
      expect(server.count(sessionPath)).toBe(0)
    },
  )

  it('redirect with a failure code of the transport is not followed and causes no resend', async () => {
    const { server, session } = setup()
    const redirect = refusal(302, 'SECURE_SESSION_EXPIRED')
    server.intercept = (request, next) => (request.path === dispatch ? redirect : next())
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_REFUSED' })
    expect(server.count(dispatch)).toBe(1)
  })

  it('client in required mode sends no plain text to a wrong or unpinned key', { tags: 'key-pins/1' }, async () => {
    for (const pins of [[], [secure.pinOf(Buffer.from(serverKeys[1].publicKey, 'base64url'))]]) {
      const { server, session } = setup('required', pins)
      server.intercept = (request, next) => {
        const response = next()
        return request.path === bootstrap && pins.length === 0
          ? description({ serverPublicKey: serverKeys[1].publicKey })
          : response
      }
      expect(await session.send(redeem)).toMatchObject({ ok: false })
      expect(server.processed).toEqual([])
      expectNothingInPlainText(server)
    }
  })

  it('encrypted response with any changed bit or field is rejected', async () => {
    const { server, session } = setup()
    let change = (response: Record<string, unknown>): Record<string, unknown> => response
    server.intercept = (request, next) => {
      const response = next()
      return request.path === dispatch
        ? { ...response, body: JSON.stringify(change(JSON.parse(response.body))) }
        : response
    }
    expect((await session.send(redeem)).ok).toBe(true)
    const flip = (text: unknown, bit: number) => {
      const flipped = Buffer.from(text as string, 'base64url')
      const index = Math.floor(bit / 8) % flipped.length
      flipped[index] = (flipped[index] as number) ^ (1 << (bit % 8))
      return flipped.toString('base64url')
    }
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('iv', 'ciphertext'), fc.nat(100_000), async (field, bit) => {
        change = (response) => ({ ...response, [field]: flip(response[field], bit) })
        expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_INVALID' })
      }),
      { numRuns: 40 },
    )
    for (const field of ['v', 'suite', 'kid', 'sid', 'rid', 'ts', 'iv', 'ciphertext']) {
      for (const value of [undefined, null, 'AAAAAAAAAAAAAAAA', 1, 2]) {
        change = (response) => ({ ...response, [field]: response[field] === value ? 3 : value })
        expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_INVALID' })
      }
    }
  })

  it.each([201, 202, 301, 400, 500])('encrypted response under the HTTP status %i is rejected', async (status) => {
    const { server, session } = setup()
    server.intercept = (request, next) => (request.path === dispatch ? { ...next(), status } : next())
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_REFUSED', phase: 'dispatch' })
  })

  it('encrypted response under another media type is rejected', async () => {
    const { server, session } = setup()
    server.intercept = (request, next) =>
      request.path === dispatch ? { ...next(), headers: { 'content-type': 'application/json' } } : next()
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_INVALID' })
  })

  it('encrypted response to another call is rejected', async () => {
    const { server, session } = setup()
    const kept: HttpResponse[] = []
    server.intercept = (request, next) => {
      const response = next()
      if (request.path === dispatch) kept.push(response)
      return request.path === dispatch ? (kept[0] as HttpResponse) : response
    }
    expect((await session.send(redeem)).ok).toBe(true)
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_INVALID' })
  })

  it('client in required mode sends no plain text after forged responses', {
    tags: ['inner-requests/1', 'encrypted-transport/1'],
  }, async () => {
    const any = fc.constantFrom(...responses, ...bootstraps, ...sessions, [
      'responses as it should',
      undefined,
    ] as const)
    await fc.assert(
      fc.asyncProperty(fc.array(any, { minLength: 1, maxLength: 20 }), async (script) => {
        const { server, session, timers } = setup()
        let step = 0
        server.intercept = (_, next) => script[step++ % script.length]?.[1]?.() ?? next()
        for (let call = 0; call < 4; call++) {
          const outcome = session.send(redeem)
          for (let tick = 0; tick < 100; tick++) await Promise.resolve()
          timers.fire(15_000)
          const ended = await outcome
          if (ended.ok) expect(ended.encrypted).toBe(true)
        }
        expectNothingInPlainText(server)
      }),
      { numRuns: 60 },
    )
  })
})
