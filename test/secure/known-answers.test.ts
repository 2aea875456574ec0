import { describe, expect, it, test } from 'vitest'
import type { ServerSession } from '../../src/secure/index.js'
import * as secure from '../../src/secure/index.js'
import { bodyOf, bytes, keysOf, type NegativeCase, type OuterRequest, positive, sessionOf, vectors } from './vectors.js'

const text = (given: Uint8Array) => Buffer.from(given).toString('base64url')
const fixed = (...values: Uint8Array[]) => {
  const left = [...values]
  return () => left.shift() ?? expect.unreachable('more random bytes than the case has')
}

test('transport vector file has the expected number of cases of each kind', () => {
  expect(vectors.positive).toHaveLength(12)
  expect(vectors.negative).toHaveLength(79)
  expect(vectors.sessionRequest).toHaveLength(24)
  expect(vectors.clientResponse).toHaveLength(9)
  expect(vectors.paths).toHaveLength(55)
})

test('limits and failure codes of the transport match the vector file', () => {
  expect(secure.CLOCK_SKEW_MS).toBe(vectors.skewMs)
  expect(secure.SESSION_LIFETIME_MS).toBe(vectors.sessionLifetimeMs)
  expect(secure.MAX_ENVELOPE_BYTES).toBe(vectors.maxEnvelopeBytes)
  expect([...secure.secureCodes].sort()).toEqual(Object.keys(vectors.httpStatus).sort())
})

describe.each(vectors.positive)('$id', { tags: 'bootstrap-and-session/1' }, (it_) => {
  const { session, derived, request, response } = it_
  const context = { ...session, salt: bytes(session.salt) }
  const client = secure.clientKeyPairOf(bytes(it_.clientPrivateKey))
  const server = secure.loadServerKey(bytes(it_.serverPrivateKey))
  const clientPoint = bytes(it_.clientPublicKey)
  const serverPoint = bytes(it_.serverPublicKey)

  it('private keys of a transport vector give its public keys and kid', { tags: 'bootstrap-and-session/4' }, () => {
    expect(text(client.publicKey)).toBe(it_.clientPublicKey)
    expect(server.publicKey).toBe(it_.serverPublicKey)
    expect(server.kid).toBe(it_.kid)
    expect(secure.kidOf(serverPoint)).toBe(it_.kid)
    expect(secure.decodePublicKey(it_.clientPublicKey)).toEqual(clientPoint)
  })

  it('keys of a transport vector give client and server its shared secret', { tags: 'bootstrap-and-session/3' }, () => {
    expect(text(secure.agreeAsClient(client.privateKey, serverPoint))).toBe(derived.sharedSecret)
    expect(text(server.agree(clientPoint))).toBe(derived.sharedSecret)
  })

  it.each([
    ['client', secure.nobleHkdf],
    ['server', secure.nodeHkdf],
  ])('HKDF of the %s derives the keys of a transport vector', { tags: 'bootstrap-and-session/3' }, (_, hkdf) => {
    const secret = bytes(derived.sharedSecret)
    expect(secure.hkdfInfo(session, 'c2s')).toBe(derived.infoC2s)
    expect(secure.hkdfInfo(session, 's2c')).toBe(derived.infoS2c)
    expect(text(hkdf.extract(context.salt, secret))).toBe(derived.prk)
    const { keyC2s, keyS2c } = secure.deriveKeys(hkdf, secret, context)
    expect([text(keyC2s), text(keyS2c)]).toEqual([derived.keyC2s, derived.keyS2c])
  })

  it.each([
    ['c2s', request],
    ['s2c', response],
  ] as const)(
    '%s message of a vector has its envelope',
    { tags: ['encrypted-transport/1', 'bootstrap-and-session/1'] },
    (direction, message) => {
      const { envelope } = message
      const key = direction === 'c2s' ? keysOf(it_).keyC2s : keysOf(it_).keyS2c
      expect(secure.additionalData(envelope, direction)).toBe(message.aad)
      const plaintext = bytes(message.plaintextBytes)
      expect(secure.seal(key, direction, envelope, bytes(envelope.iv), plaintext)).toEqual(envelope)
      const parsed = secure.parseEnvelope(envelope)
      expect(parsed.ok && secure.open(key, direction, parsed.message)).toEqual(plaintext)
    },
  )

  it('server opens the request of a transport vector and seals its response', () => {
    const read = secure.readDispatch(bodyOf(request), it_.serverNow)
    if (!read.ok) throw new Error(read.code)
    const { origin } = request.headers
    const opened = secure.openDispatch(read.message, { session: sessionOf(it_), origin, now: it_.serverNow })
    if (!opened.ok) throw new Error(opened.code)
    const inner = secure.readInnerRequest(opened.plaintext)
    expect(inner.ok).toBe(true)

    const { status, headers, body } = JSON.parse(response.plaintext)
    const plain = { status, headers, body: JSON.stringify(body) }
    const sealed = secure.sealResponse(read.message, sessionOf(it_), plain, fixed(bytes(response.envelope.iv)))
    expect(sealed).toEqual(response.envelope)
  })

  it('client seals the request of a transport vector and opens its response', () => {
    const inner = JSON.parse(request.plaintext)
    const query = new URLSearchParams(inner.query).toString()
    const encoded = secure.encodeInnerRequest({
      method: inner.method,
      path: query === '' ? inner.path : `${inner.path}?${query}`,
      headers: inner.headers,
      ...(inner.body === null ? {} : { body: JSON.stringify(inner.body) }),
    })
    if (!encoded.ok) throw new Error(encoded.part)
    expect(Buffer.from(encoded.plaintext).toString()).toBe(request.plaintext)

    const { kid, sid, rid, ts, iv } = request.envelope
    const held = { ...session, kid, sid, saltBytes: 32, ...keysOf(it_) }
    const sealed = secure.sealRequest(encoded.plaintext, held, ts, fixed(Buffer.from(rid, 'base64url'), bytes(iv)))
    if (!sealed.ok) throw new Error(sealed.code)
    expect(sealed.envelope).toEqual(request.envelope)
    expect(sealed.request.headers).toMatchObject(request.headers)
    expect(sealed.request.headers.origin).toBe(request.headers.origin)

    const outer = { status: 200, headers: response.headers, body: JSON.stringify(response.envelope) }
    const opened = secure.openResponse(outer, request.envelope, keysOf(it_))
    const { status, headers, body } = JSON.parse(response.plaintext)
    expect(opened).toEqual({ ok: true, response: { status, headers, body: JSON.stringify(body) } })
  })
})

/** Processes a dispatch request like the server, with replay marks in `marks`; returns its outer and inner codes. */
function dispatch(request: OuterRequest, now: number, session: ServerSession, marks: Set<string>) {
  const { headers = { 'content-type': secure.MEDIA_TYPE } } = request
  const body = bodyOf(request)
  // Without a Content-Length the body itself is measured.
  const refused = secure.checkDispatchHead(headers)
  if (refused !== undefined) return { code: refused.code }
  const read = secure.readDispatch(body, now)
  if (!read.ok) return { code: read.code }
  const { message } = read
  const found = message.sid === session.sid ? session : undefined
  const opened = secure.openDispatch(message, { session: found, origin: headers.origin, now })
  if (!opened.ok) return { code: opened.code }
  const mark = `${message.sid} ${message.rid}`
  if (marks.has(mark)) return { code: 'REQUEST_REPLAYED' }
  marks.add(mark)
  const inner = secure.readInnerRequest(opened.plaintext)
  return { code: null, innerCode: inner.ok ? null : inner.code, plaintext: opened.plaintext }
}

describe('dispatch vectors', { tags: ['envelopes/1', 'dispatch-order/3'] }, () => {
  it.each(vectors.negative)('dispatch vector $id is refused with its code: $comment', (given: NegativeCase) => {
    const session = sessionOf(positive(given.base))
    const marks = new Set<string>()
    for (const earlier of given.before ?? []) dispatch(earlier, given.serverNow, session, marks)
    const outcome = dispatch(given, given.serverNow, session, marks)
    expect(outcome.code).toBe(given.expect.code ?? null)
    expect(outcome.innerCode).toBe(given.expect.outerStatus === 200 ? (given.expect.innerCode ?? null) : undefined)
    if (outcome.code !== null) expect(given.expect.outerStatus).toBe(vectors.httpStatus[outcome.code])
  })
})

describe('session request vectors', () => {
  const key = secure.loadServerKey(bytes(positive('p01-get-no-origin').serverPrivateKey))

  it.each(vectors.sessionRequest)(
    'session request vector $id gets its code: $comment',
    { tags: 'bootstrap-and-session/4' },
    ({ body, headers, allowedOrigins, expect: expected }) => {
      const made = secure.createServerSession(
        { body, origin: headers.origin },
        {
          allowedOrigins,
          brand: 'platform',
          keyFor: (kid) => (kid === undefined || kid === key.kid ? key : undefined),
          now: 0,
          randomBytes: (size) => new Uint8Array(size),
        },
      )
      expect(made.ok ? null : made.code).toBe(expected.code)
    },
  )
})

describe('response that a client must reject', () => {
  it.each(vectors.clientResponse)('client rejects the response of vector $id: $comment', (given) => {
    const base = positive(given.base)
    const response = { status: given.httpStatus, headers: given.headers, body: Buffer.from(bodyOf(given)).toString() }
    expect(secure.openResponse(response, base.request.envelope, keysOf(base))).toMatchObject({
      ok: false,
      code: 'SECURE_ANSWER_INVALID',
      maybeProcessed: true,
    })
  })

  it('client accepts the unmodified response from which the rejected responses were made', () => {
    const base = positive('p01-get-no-origin')
    const response = { status: 200, headers: base.response.headers, body: JSON.stringify(base.response.envelope) }
    expect(secure.openResponse(response, base.request.envelope, keysOf(base)).ok).toBe(true)
  })
})

test.each(vectors.paths)(
  'inner path $path of the vectors is valid: $valid',
  { tags: 'inner-requests/1' },
  ({ path, valid }) => {
    expect(secure.isLogicalPath(path)).toBe(valid)
    const request = { method: 'POST', path: '/x', headers: {} }
    const plaintext = Buffer.from(JSON.stringify({ ...request, path, query: {}, body: null }))
    expect(secure.readInnerRequest(plaintext).ok).toBe(valid)
  },
)
