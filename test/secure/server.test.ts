import { describe, expect, it } from 'vitest'
import { encodeEnvelope } from '../../src/secure/envelope.js'
import type { SessionSettings } from '../../src/secure/index.js'
import * as secure from '../../src/secure/index.js'
import { makeRandom, serverKeys } from './fake-server.js'
import { bodyOf, bytes, positive, sessionOf } from './vectors.js'

const base = positive('p01-get-no-origin')
const now = base.serverNow

describe('session request', { tags: 'bootstrap-and-session/4' }, () => {
  const [current, old] = serverKeys
  const clientPublicKey = base.clientPublicKey
  const create = (body: unknown, origin?: string, settings: Partial<SessionSettings> = {}) =>
    secure.createServerSession(
      { body, origin },
      {
        allowedOrigins: ['*'],
        brand: 'platform',
        keyFor: (kid) => [current, old].find((key) => kid === undefined || key.kid === kid),
        now,
        randomBytes: makeRandom('session'),
        ...settings,
      },
    )

  it('new encrypted session lasts 600 s', { tags: ['bootstrap-and-session/1', 'bootstrap-and-session/2'] }, () => {
    const made = create({ clientPublicKey })
    if (!made.ok) throw new Error(made.code)
    const { session, response } = made
    expect(Object.keys(response).sort()).toEqual(['brand', 'expiresAt', 'origin', 'salt', 'sid'])
    expect(response).toMatchObject({ brand: 'platform', origin: '', expiresAt: now + 600_000 })
    expect(response.sid).toMatch(/^ss_[A-Za-z0-9_-]{22}$/)
    expect(bytes(response.salt)).toHaveLength(32)
    expect(Object.keys(session).sort()).toEqual(['expiresAt', 'keyC2s', 'keyS2c', 'kid', 'origin', 'sid'])
    expect(session).toMatchObject({ sid: response.sid, kid: current.kid, origin: '', expiresAt: response.expiresAt })
  })

  it('session request binds the session to its origin', { tags: 'session-origins/1' }, () => {
    const made = create({ clientPublicKey }, 'https://a.example:8443')
    expect(made).toMatchObject({
      session: { origin: 'https://a.example:8443' },
      response: { origin: 'https://a.example:8443' },
    })
  })

  it('session request gets the server key that its kid names', () => {
    expect(create({ clientPublicKey, kid: old.kid })).toMatchObject({ ok: true, session: { kid: old.kid } })
  })

  it('session request whose kid is no text is refused, whatever keys the server knows', () => {
    const mismatch = { ok: false, code: 'SECURE_SESSION_MISMATCH' }
    expect(create({ clientPublicKey, kid: 5 }, undefined, { keyFor: () => current })).toEqual(mismatch)
  })

  it('session request may call its key publicKey, but not use both names', { tags: 'bootstrap-and-session/2' }, () => {
    expect(create({ publicKey: clientPublicKey }).ok).toBe(true)
    const doubled = { clientPublicKey, publicKey: clientPublicKey }
    expect(create(doubled)).toEqual({ ok: false, code: 'SECURE_PUBLIC_KEY_INVALID' })
    expect(create({ ...doubled, clientPublicKey: null })).toEqual({ ok: false, code: 'SECURE_PUBLIC_KEY_INVALID' })
  })

  it.each([
    ['SECURE_PUBLIC_KEY_INVALID', undefined],
    ['SECURE_PUBLIC_KEY_INVALID', null],
    ['SECURE_PUBLIC_KEY_INVALID', [clientPublicKey]],
    ['SECURE_PUBLIC_KEY_INVALID', { clientPublicKey: 4 }],
    ['SECURE_VERSION_UNSUPPORTED', { clientPublicKey, v: 2 }],
    ['SECURE_VERSION_UNSUPPORTED', { clientPublicKey, v: '1' }],
    ['SECURE_VERSION_UNSUPPORTED', { clientPublicKey, suite: 'X' }],
    ['SECURE_SESSION_MISMATCH', { clientPublicKey, kid: 7 }],
    ['SECURE_SESSION_MISMATCH', { clientPublicKey, kid: '' }],
  ])('session request gets the failure code %s for the body %j', (code, body) => {
    expect(create(body)).toEqual({ ok: false, code })
  })

  it('session request is refused for origin, version, public key or kid, in this order', () => {
    const body = { clientPublicKey: 'x', v: 2, kid: 'y' }
    expect(create(body, 'null')).toMatchObject({ code: 'SECURE_ORIGIN_NOT_ALLOWED' })
    expect(create(body)).toMatchObject({ code: 'SECURE_VERSION_UNSUPPORTED' })
    expect(create({ ...body, v: 1 })).toMatchObject({ code: 'SECURE_PUBLIC_KEY_INVALID' })
    expect(create({ ...body, v: 1, clientPublicKey })).toMatchObject({ code: 'SECURE_SESSION_MISMATCH' })
  })
})

describe('origin of the encrypted transport', () => {
  it.each(['https://a.example', 'http://localhost:3000', 'http://127.0.0.1', 'https://[::1]:8443'])(
    'isCanonicalOrigin() accepts %s',
    (origin) => {
      expect(secure.isCanonicalOrigin(origin)).toBe(true)
    },
  )

  it.each([
    '',
    '*',
    'null',
    'https://',
    'https://a.example:443',
    'https://u@a.example',
    'https://a.example?',
    'ftp://a',
  ])('isCanonicalOrigin() rejects "%s"', (origin) => {
    expect(secure.isCanonicalOrigin(origin)).toBe(false)
  })

  it('origin is allowed by a list that contains the origin or the wildcard', { tags: 'session-origins/2' }, () => {
    expect(secure.isOriginAllowed(['https://a.example'], 'https://a.example')).toBe(true)
    expect(secure.isOriginAllowed(['https://a.example'], 'https://b.example')).toBe(false)
    expect(secure.isOriginAllowed(['https://a.example', ''], '')).toBe(false)
    expect(secure.isOriginAllowed([], '')).toBe(false)
    expect(secure.isOriginAllowed(['*'], '')).toBe(true)
  })
})

describe('dispatch with several faults', () => {
  const good = base.request.envelope
  const session = sessionOf(base)
  const responseTo = (envelope: object, found: typeof session | undefined, origin: string | undefined, at: number) => {
    const read = secure.readDispatch(Buffer.from(JSON.stringify(envelope)), at)
    return read.ok ? secure.openDispatch(read.message, { session: found, origin, now: at }) : read
  }

  // Each expectation is about an envelope in which the previously reported fault is fixed.
  it('dispatch request with several faults is refused for the first in order', { tags: 'dispatch-order/3' }, () => {
    const late = now + 700_000
    const ciphertext = Buffer.from(good.ciphertext, 'base64url').fill(0, 0, 1).toString('base64url')
    const worst = { ...good, v: 2, extra: 1, ts: 0, kid: 'other', ciphertext }
    expect(responseTo(worst, undefined, 'null', late)).toMatchObject({ code: 'SECURE_VERSION_UNSUPPORTED' })
    const form = { ...worst, v: 1 }
    expect(responseTo(form, undefined, 'null', late)).toMatchObject({ code: 'SECURE_ENVELOPE_INVALID' })
    const { extra: _, ...stale } = form
    expect(responseTo(stale, undefined, 'null', late)).toMatchObject({ code: 'REQUEST_TIMESTAMP_OUT_OF_RANGE' })
    const timely = { ...stale, ts: late }
    expect(responseTo(timely, undefined, 'null', late)).toMatchObject({ code: 'SECURE_SESSION_EXPIRED' })
    expect(responseTo(timely, session, 'null', late)).toMatchObject({ code: 'SECURE_SESSION_EXPIRED' })
    const living = { ...timely, ts: now }
    expect(responseTo(living, session, 'null', now)).toMatchObject({ code: 'SECURE_SESSION_MISMATCH' })
    const keyed = { ...living, kid: good.kid }
    expect(responseTo(keyed, session, 'null', now)).toMatchObject({ code: 'SECURE_SESSION_ORIGIN_MISMATCH' })
    expect(responseTo(keyed, session, undefined, now)).toMatchObject({ code: 'DECRYPTION_FAILED' })
    expect(responseTo(good, session, undefined, now)).toMatchObject({ ok: true })
  })

  it('dispatch request may be at most 60 s early or late', { tags: ['envelopes/1', 'dispatch-order/2'] }, () => {
    const codeAt = (ts: number) => {
      const read = secure.readDispatch(Buffer.from(JSON.stringify({ ...good, ts })), now)
      return read.ok ? null : read.code
    }
    expect([-60_000, 60_000].map((off) => codeAt(now + off))).toEqual([null, null])
    const refused = ['REQUEST_TIMESTAMP_OUT_OF_RANGE', 'REQUEST_TIMESTAMP_OUT_OF_RANGE']
    expect([-60_001, 60_001].map((off) => codeAt(now + off))).toEqual(refused)
  })

  it('dispatch request with the sid of another session is refused, not decrypted', () => {
    const other = { ...session, sid: 'ss_other' }
    expect(responseTo(good, other, undefined, now)).toMatchObject({ code: 'SECURE_SESSION_EXPIRED' })
  })

  it('dispatch request with a member name inherited from Object.prototype is refused', () => {
    expect(responseTo(JSON.parse('{"__proto__":{"v":1}}'), session, undefined, now)).toMatchObject({
      code: 'SECURE_ENVELOPE_INVALID',
    })
    const text = JSON.stringify(good).replace('"iv"', '"constructor"')
    expect(secure.readDispatch(Buffer.from(text), now)).toMatchObject({ code: 'SECURE_ENVELOPE_INVALID' })
  })

  it('dispatch request nested as deep as its size allows is refused', () => {
    const deep = '['.repeat(131_072) + ']'.repeat(131_072)
    expect(secure.readDispatch(Buffer.from(deep), now)).toMatchObject({ code: 'SECURE_ENVELOPE_INVALID' })
  })
})

describe('headers of a dispatch', () => {
  const type = { 'content-type': secure.MEDIA_TYPE }
  it.each([
    [undefined, type],
    [undefined, { 'content-type': 'Application/vnd.Platform.secure+JSON ; charset=utf-8' }],
    [undefined, { ...type, 'content-length': '262144' }],
    ['SECURE_ENVELOPE_TOO_LARGE', { ...type, 'content-length': '262145' }],
    ['UNSUPPORTED_MEDIA_TYPE', { ...type, 'content-encoding': 'identity' }],
    ['UNSUPPORTED_MEDIA_TYPE', { 'content-type': `${secure.MEDIA_TYPE}x` }],
    ['UNSUPPORTED_MEDIA_TYPE', { 'content-type': 'text/plain', 'content-length': '262145' }],
  ])('checkDispatchHead() returns the failure code %s for the headers %j', (code, headers) => {
    expect(secure.checkDispatchHead(headers)?.code).toBe(code)
  })
})

describe('server key', () => {
  it.each([
    ['zero', new Uint8Array(32)],
    ['the group order', Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')],
    ['31 bytes', bytes(base.serverPrivateKey).subarray(1)],
    ['33 bytes', Buffer.concat([Buffer.alloc(1), bytes(base.serverPrivateKey)])],
  ])('server key is rejected if it is %s', (_, privateKey) => {
    const error = new RangeError('The private key is no P-256 scalar of 32 bytes')
    expect(() => secure.loadServerKey(privateKey)).toThrow(error)
  })

  it('makeServerPrivateKey() draws random bytes again until they are a valid scalar', () => {
    const draws = [new Uint8Array(32), new Uint8Array(32).fill(0xff), bytes(base.serverPrivateKey)]
    const made = secure.makeServerPrivateKey(() => draws.shift() ?? expect.unreachable('one draw too many'))
    expect(secure.loadServerKey(made).kid).toBe(base.kid)
  })
})

describe('public key', () => {
  const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
  const pointOf = (x: bigint, y: bigint) =>
    Buffer.from(`04${[x, y].map((it) => it.toString(16).padStart(64, '0')).join('')}`, 'hex')
  const decode = (point: Uint8Array) => secure.decodePublicKey(secure.encodeBase64url(point))
  // A point of the curve with y = 5, so that y + p still has 32 bytes.
  const x = 0xd7325d7646cd60d80a92738ceb345f844cffaf35841022cab176f692de8de1d7n

  it('public key with a coordinate of p or more is refused', { tags: 'public-keys/1' }, () => {
    expect(decode(pointOf(x, 5n))).toEqual(pointOf(x, 5n))
    expect(decode(pointOf(x, 5n + P))).toBeUndefined()
  })

  it('public key of 66 bytes is refused, even if its longer y has the same value', { tags: 'public-keys/1' }, () => {
    const point = pointOf(x, 5n)
    expect(decode(Buffer.concat([point.subarray(0, 33), Buffer.alloc(1), point.subarray(33)]))).toBeUndefined()
  })
})

describe('key derivation', () => {
  it.each([
    ['server', secure.nodeHkdf],
    ['client', secure.nobleHkdf],
  ])('HKDF of the %s makes at most 8,160 bytes', (_, { expand }) => {
    const prk = new Uint8Array(32)
    expect(expand(prk, new Uint8Array(), 8_160)).toHaveLength(8_160)
    const error = new RangeError('HKDF-SHA256 makes at most 8160 bytes')
    expect(() => expand(prk, new Uint8Array(), 8_161)).toThrow(error)
  })
})

describe('form of an envelope', () => {
  const head = { kid: 'k'.repeat(16), sid: 's'.repeat(16), rid: 'r'.repeat(16), ts: now }
  const envelope = secure.seal(new Uint8Array(32), 'c2s', head, new Uint8Array(12), '{}')
  it.each([{ suite: 5 }, { kid: 12_345 }, { sid: 12_345 }, { rid: 1_234_567_890_123_456 }])(
    'envelope with the number in %j instead of text is malformed',
    (change) => {
      expect(secure.parseEnvelope(envelope).ok).toBe(true)
      expect(secure.parseEnvelope({ ...envelope, ...change })).toEqual({ ok: false, code: 'SECURE_ENVELOPE_INVALID' })
    },
  )
})

describe('sealed response', () => {
  it('sealed response contains only the headers that a client may see', { tags: 'inner-requests/4' }, () => {
    const shown = {
      'content-type': 'application/json',
      'retry-after': '1',
      'x-request-id': 'req_1',
      'idempotent-replayed': 'true',
      ratelimit: '"issue";r=1;t=1',
      'ratelimit-policy': '"issue";q=1;w=1',
    }
    const all = { ...shown, 'set-cookie': 'a=b', server: 'x', 'content-length': '2', connection: 'close' }
    const encoded = secure.encodeInnerResponse({ status: 429, headers: all, body: '{}' })
    expect(JSON.parse(Buffer.from(encoded).toString())).toEqual({ status: 429, headers: shown, body: {} })
  })

  it('sealed response keeps the numbers of the body as written and contains null for no body', () => {
    const encode = (body: string) =>
      Buffer.from(secure.encodeInnerResponse({ status: 200, headers: {}, body })).toString()
    expect(encode('{"n":9007199254740993}')).toBe('{"status":200,"headers":{},"body":{"n":9007199254740993}}')
    expect(encode('')).toBe('{"status":200,"headers":{},"body":null}')
  })

  it('sealed response has a new IV each time', { tags: ['bootstrap-and-session/1', 'envelopes/1'] }, () => {
    const read = secure.readDispatch(bodyOf(base.request), now)
    if (!read.ok) throw new Error(read.code)
    const random = makeRandom('responses')
    const response = { status: 200, headers: {}, body: '{}' }
    const ivs = Array.from(
      { length: 50 },
      () => secure.sealResponse(read.message, sessionOf(base), response, random).iv,
    )
    expect(new Set(ivs).size).toBe(50)
  })

  it('sealed response is written as JSON.stringify would write its envelope', () => {
    const read = secure.readDispatch(bodyOf(base.request), now)
    if (!read.ok) throw new Error(read.code)
    const response = { status: 200, headers: {}, body: '{}' }
    const envelope = secure.sealResponse(read.message, sessionOf(base), response, makeRandom('written'))
    expect(encodeEnvelope(envelope)).toBe(JSON.stringify(envelope))
  })
})
