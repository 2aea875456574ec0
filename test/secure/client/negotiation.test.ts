import { describe, expect, it } from 'vitest'
import * as secure from '../../../src/secure/index.js'
import { json, makeRandom, serverKeys } from '../fake-server.js'

const NOW = Date.UTC(2027, 0, 1)
const description = secure.describeServer(serverKeys[0], true, NOW)
const read = (change: object, pins: readonly string[] = []) =>
  secure.readBootstrap(json(200, { ...description, ...change }), pins)
const bootstrap = read({}) as secure.Bootstrap
const keyPair = secure.makeClientKeyPair(makeRandom('client'))

describe('requests of a negotiation', () => {
  it('bootstrap request is a repeatable GET of JSON', () => {
    expect(secure.bootstrapRequest).toEqual({
      method: 'GET',
      path: secure.paths.bootstrap,
      headers: { accept: 'application/json' },
      repeatable: true,
    })
  })

  it('session request is a repeatable POST with the public key and the kid of the bootstrap', () => {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    const request = secure.sessionRequest(bootstrap, keyPair, '')
    expect(request).toEqual({
      method: 'POST',
      path: secure.paths.session,
      headers,
      body: JSON.stringify({ clientPublicKey: secure.encodeBase64url(keyPair.publicKey), kid: bootstrap.kid }),
      repeatable: true,
    })
    const origin = 'https://a.example'
    expect(secure.sessionRequest(bootstrap, keyPair, origin)).toEqual({ ...request, headers: { ...headers, origin } })
  })
})

describe('bootstrap response', () => {
  it.each([
    ['SECURE_BOOTSTRAP_INVALID', { enabled: 1 }],
    ['SECURE_VERSION_UNSUPPORTED', { v: 2 }],
    ['SECURE_VERSION_UNSUPPORTED', { suite: 'other' }],
    ['SECURE_BOOTSTRAP_INVALID', { serverPublicKey: 5 }],
    ['SECURE_BOOTSTRAP_INVALID', { kid: '' }],
    ['SECURE_BOOTSTRAP_INVALID', { serverTime: -1 }],
  ])('bootstrap response is refused with %s for %j', { tags: 'client-modes/2' }, (code, change) => {
    expect(read(change)).toMatchObject({ ok: false, code, phase: 'bootstrap' })
  })

  it('bootstrap response with an unpinned key is refused', () => {
    const pin = secure.pinOf(Buffer.from(serverKeys[1].publicKey, 'base64url'))
    expect(read({}, [pin])).toMatchObject({ ok: false, code: 'SECURE_PIN_MISMATCH', phase: 'bootstrap' })
  })
})

describe('session response', () => {
  const good = { sid: 'ss_1', salt: 'A'.repeat(43), brand: 'platform', origin: '', expiresAt: NOW + 1 }
  const outcome = (change: object, status = 200) =>
    secure.readSession(json(status, { ...good, ...change }), bootstrap, keyPair, { origin: '', serverNow: NOW })
  const saltOf = (size: number) => secure.encodeBase64url(new Uint8Array(size))

  it.each([200, 201])('session response with the status %i opens a session', (status) => {
    expect(outcome({}, status)).toMatchObject({ ok: true, session: { sid: 'ss_1', saltBytes: 32 } })
  })

  it.each([202, 204, 404])('session response with the status %i is refused', (status) => {
    expect(outcome({}, status)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_REFUSED', phase: 'session' })
  })

  it('session response needs a salt of 16 to 64 bytes', () => {
    const accepted = [15, 16, 64, 65].map((size) => outcome({ salt: saltOf(size) }).ok)
    expect(accepted).toEqual([false, true, true, false])
  })

  it('session response without an origin is bound to none', () => {
    expect(outcome({ origin: undefined })).toMatchObject({ ok: true, session: { origin: '' } })
  })

  it('session response whose brand is no text is refused', () => {
    expect(outcome({ brand: 5 })).toMatchObject({ ok: false, code: 'SECURE_SESSION_INVALID', phase: 'session' })
  })
})
