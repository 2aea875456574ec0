import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import * as secure from '../../../src/secure/index.js'
import { paths } from '../../../src/secure/index.js'
import { TestClock } from '../../../src/server/clock.js'
import { SecureKeys } from '../../../src/server/transport/keys.js'
import { memorySessions } from '../../../src/store/sessions.js'
import type { Store } from '../../../src/store/store.js'
import {
  bodyOf,
  bytes,
  keysOf,
  type OuterRequest,
  type PositiveCase,
  positive,
  sessionOf,
  vectors,
} from '../../secure/vectors.js'
import { seededRandom, type TestApp, testApp, testDeps } from '../../support/server/app.js'
import type { ApiResponse } from '../../support/server/client.js'
import { portOf, rawResponse } from '../../support/server/raw.js'
import { openTestStore } from '../../support/store/engines.js'

/** Sends every server case of the transport test vectors over a socket to a complete server. */

let store: Store
beforeAll(() => {
  store = openTestStore()
})
afterAll(() => store.close())

let server: TestApp | undefined
afterEach(() => server?.close())

/** Transport keys whose current key is the private key of a test vector. */
function keysFile(privateKey: string): SecureKeys {
  const kept = { private_key: privateKey, state: 'current', created_at: 0, activated_at: 0, grace_until: null }
  const next = { ...kept, private_key: Buffer.alloc(32, 1).toString('base64url'), state: 'next' }
  const file = { version: 1, keys: [kept, next] }
  return new SecureKeys({ name: 'keys', read: () => JSON.stringify(file), write: () => {} }, seededRandom('keys'), 0)
}

/** Starts a server with the time, transport key, brand and random bytes of a test vector; returns its port. */
async function serverOf(it: PositiveCase, now: () => number, allowedOrigins = ['*']): Promise<number> {
  const drawn = [Buffer.from(it.session.sid.slice('ss_'.length), 'base64url'), bytes(it.session.salt)]
  const others = seededRandom('server')
  const random = (size: number) => (drawn[0]?.length === size ? (drawn.shift() as Uint8Array) : others(size))
  const clock = new TestClock({ now })
  const { secure: settings } = testDeps({ store })
  const keys = keysFile(it.serverPrivateKey)
  const own = { ...settings, keys, allowedOrigins, brand: it.session.brand, sessions: memorySessions<never>() }
  server = testApp({ store, clock, secure: own, random })
  return portOf(server.app)
}

const post = (port: number, path: string, headers: Readonly<Record<string, string>>, body: Uint8Array) => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${body.length}\r\n\r\n`
  return rawResponse(port, Buffer.concat([Buffer.from(head, 'latin1'), body]))
}
const dispatch = (port: number, request: OuterRequest) =>
  post(port, paths.dispatch, request.headers ?? {}, bodyOf(request))

/** Decrypts a dispatch response with the client keys of the test vector. */
function opened(it: PositiveCase, sent: unknown, { status, headers, text: body }: ApiResponse): secure.HttpResponse {
  const response = secure.openResponse({ status, headers, body }, sent as secure.Envelope, keysOf(it))
  if (!response.ok) throw new Error(response.code)
  return response.response
}

it('transport vector file has 12 positive, 79 negative, 24 session and 55 path cases', () => {
  const { positive: good, negative, sessionRequest, paths: logical } = vectors
  expect([good.length, negative.length, sessionRequest.length, logical.length]).toEqual([12, 79, 24, 55])
})

it.each(vectors.positive.map((it) => [it.id, it] as const))(
  'server returns the session and dispatch responses of the transport vector %s',
  { tags: ['encrypted-transport/1', 'dispatch-order/1', 'envelopes/2', 'envelope/3', 'times/1'] },
  async (_, vector) => {
    let now = vector.session.createdAt
    const port = await serverOf(vector, () => now)
    const { sid, salt, brand, origin, expiresAt } = vector.session
    const ofSession = { 'Content-Type': 'application/json', ...(origin === '' ? {} : { Origin: origin }) }
    const request = Buffer.from(JSON.stringify({ clientPublicKey: vector.clientPublicKey, kid: vector.kid }))
    const made = await post(port, paths.session, ofSession, request)
    expect([made.status, JSON.parse(made.text)]).toEqual([200, { sid, salt, brand, origin, expiresAt }])

    now = vector.serverNow
    const response = await dispatch(port, vector.request)
    expect([response.status, response.headers['content-type']]).toEqual([200, secure.MEDIA_TYPE])
    expect(response.headers['cache-control']).toBe('no-store')
    const { iv: _iv, ciphertext: _ciphertext, ...repeated } = vector.request.envelope
    expect(JSON.parse(response.text)).toEqual({
      ...repeated,
      iv: expect.stringMatching(/^[\w-]{16}$/),
      ciphertext: expect.stringMatching(/^[\w-]+$/),
    })
    // This server does not know the token of the vector, so a plain call fails in the same way.
    const inner = opened(vector, vector.request.envelope, response)
    expect([inner.status, JSON.parse(inner.body)]).toEqual([401, expect.objectContaining({ code: 'TOKEN_INVALID' })])
  },
)

it.each(vectors.negative.map((it) => [it.id, it] as const))(
  'server refuses the dispatch request of the negative transport vector %s',
  { tags: ['dispatch-order/2', 'dispatch-order/3', 'failure-codes/2'] },
  async (_, vector) => {
    const base = positive(vector.base)
    const port = await serverOf(base, () => vector.serverNow)
    await server?.deps.secure.sessions.add(sessionOf(base))
    for (const earlier of vector.before ?? []) {
      const { status, text } = await dispatch(port, { headers: base.request.headers, ...earlier })
      expect(status === 200 ? 'OK' : JSON.parse(text).code).toBe(earlier.expect)
    }
    const response = await dispatch(port, vector)
    const { outerStatus, code, innerStatus, innerCode } = vector.expect
    expect(response.status).toBe(outerStatus)
    if (typeof code === 'string') {
      expect(response.code).toBe(code)
      expect(response.headers['x-request-id']).toBe(response.envelope.requestId)
      return
    }
    const sent = vector.envelope ?? JSON.parse(Buffer.from(bodyOf(vector)).toString())
    const inner = opened(base, sent, response)
    if (innerStatus === undefined) return
    expect([inner.status, JSON.parse(inner.body)]).toEqual([
      innerStatus,
      expect.objectContaining({ success: false, code: innerCode }),
    ])
    expect(inner.headers['x-request-id']).toBe(response.headers['x-request-id'])
  },
)

it.each(vectors.sessionRequest.map((it) => [it.id, it] as const))(
  'server responds to the session request of the transport vector %s as specified',
  { tags: ['bootstrap-and-session/4', 'session-origins/2'] },
  async (_, vector) => {
    const base = positive('p01-get-no-origin')
    const port = await serverOf(base, () => base.serverNow, [...vector.allowedOrigins])
    const response = await post(port, paths.session, vector.headers, Buffer.from(JSON.stringify(vector.body)))
    expect(response.status).toBe(vector.expect.outerStatus)
    if (vector.expect.code === null) expect(Object.keys(JSON.parse(response.text))).toContain('salt')
    else expect(response.code).toBe(vector.expect.code)
  },
)

it.each(vectors.paths.map((it) => [JSON.stringify(it.path).slice(0, 80), it] as const))(
  'server accepts or refuses the inner path %s as the transport vectors specify',
  { tags: ['inner-requests/1', 'inner-requests/2', 'dispatch-order/1'] },
  async (_, { path, valid }) => {
    const base = positive('p01-get-no-origin')
    const port = await serverOf(base, () => base.serverNow)
    const session = { ...sessionOf(base), ...keysOf(base), brand: 'platform', saltBytes: 32 }
    await server?.deps.secure.sessions.add(session)
    const plaintext = Buffer.from(JSON.stringify({ method: 'GET', path }))
    const sealed = secure.sealRequest(plaintext, session, base.serverNow, seededRandom('client'))
    if (!sealed.ok) throw new Error(sealed.code)
    const { request, envelope } = sealed
    const response = await post(port, request.path, request.headers, Buffer.from(request.body ?? ''))
    const { status, body } = opened(base, envelope, response)
    const { code, details } = JSON.parse(body)
    const refused = [400, 'SECURE_REQUEST_INVALID', { part: 'path' }]
    if (valid) expect(code).toMatch(/^(TOKEN_MISSING|ROUTE_NOT_FOUND|METHOD_NOT_ALLOWED)$/)
    else expect([status, code, details]).toEqual(refused)
  },
)
