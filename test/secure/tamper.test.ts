import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as secure from '../../src/secure/index.js'
import { makeRandom } from './fake-server.js'
import { bodyOf, bytes, keysOf, positive, sessionOf, vectors } from './vectors.js'

fc.configureGlobal({ seed: 1 })

const base = positive('p02-issue-unicode')
const session = sessionOf(base)

function openedBy(body: Uint8Array, origin: string | undefined = undefined) {
  const read = secure.readDispatch(body, base.serverNow)
  return read.ok ? secure.openDispatch(read.message, { session, origin, now: base.serverNow }) : read
}

test('dispatch request with any flipped bit is refused', { tags: 'dispatch-order/3' }, () => {
  const body = Buffer.from(bodyOf(base.request))
  expect(openedBy(body).ok).toBe(true)
  for (let bit = 0; bit < body.length * 8; bit++) {
    const changed = Buffer.from(body)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(openedBy(changed).ok).toBe(false)
  }
})

test('dispatch request is refused if any bit of the session keys is flipped', () => {
  const read = secure.readDispatch(bodyOf(base.request), base.serverNow)
  if (!read.ok) throw new Error(read.code)
  for (let bit = 0; bit < 256; bit++) {
    const keyC2s = Buffer.from(session.keyC2s)
    keyC2s[bit >> 3] = (keyC2s[bit >> 3] as number) ^ (1 << (bit & 7))
    const context = { session: { ...session, keyC2s }, origin: undefined, now: base.serverNow }
    expect(secure.openDispatch(read.message, context)).toEqual({ ok: false, code: 'DECRYPTION_FAILED' })
  }
})

test('public key with any flipped bit is rejected as a point off the curve', { tags: 'public-keys/1' }, () => {
  const point = bytes(base.clientPublicKey)
  for (let bit = 0; bit < 65 * 8; bit++) {
    const changed = Buffer.from(point)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(secure.decodePublicKey(secure.encodeBase64url(changed))).toBeUndefined()
  }
})

test('text is sealed as its UTF-8 bytes', () => {
  const { keyS2c: key } = keysOf(base)
  const { kid, sid, ts } = base.request.envelope
  const iv = new Uint8Array(12)
  for (const text of ['{}', '{"name":"Käse 🧀"}', '{"half":"\ud83e"}', 'ł'.repeat(3_000)]) {
    const head = { kid, sid, ts, rid: 'r'.repeat(16) }
    expect(secure.seal(key, 's2c', head, iv, text)).toEqual(secure.seal(key, 's2c', head, iv, Buffer.from(text)))
  }
})

test('message sealed for one direction (c2s or s2c) cannot be opened for the other direction', () => {
  const keys = keysOf(base)
  const { kid, sid, ts } = base.request.envelope
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 3_000 }), fc.string(), (plaintext, seed) => {
      const random = makeRandom(seed)
      const head = { kid, sid, ts, rid: secure.encodeBase64url(random(16)) }
      for (const direction of ['c2s', 's2c'] as const) {
        const key = direction === 'c2s' ? keys.keyC2s : keys.keyS2c
        const parsed = secure.parseEnvelope(secure.seal(key, direction, head, random(12), plaintext))
        if (!parsed.ok) throw new Error(parsed.code)
        expect(secure.open(key, direction, parsed.message)).toEqual(Buffer.from(plaintext))
        expect(secure.open(key, direction === 'c2s' ? 's2c' : 'c2s', parsed.message)).toBeUndefined()
      }
    }),
    { numRuns: 50 },
  )
})

test('client and server derive the same keys from their public keys', () => {
  fc.assert(
    fc.property(fc.string(), (seed) => {
      const random = makeRandom(seed)
      const server = secure.loadServerKey(secure.makeServerPrivateKey(random))
      const client = secure.makeClientKeyPair(random)
      const made = secure.createServerSession(
        { body: { clientPublicKey: secure.encodeBase64url(client.publicKey) }, origin: undefined },
        { allowedOrigins: ['*'], brand: 'b', keyFor: () => server, now: 0, randomBytes: random },
      )
      if (!made.ok) throw new Error(made.code)
      const response = { status: 200, headers: {}, body: JSON.stringify(made.response) }
      const described = JSON.stringify(secure.describeServer(server, true, 0))
      const bootstrap = secure.readBootstrap({ ...response, body: described }, [])
      if (!bootstrap.ok || !bootstrap.enabled) throw new Error('no bootstrap')
      const read = secure.readSession(response, bootstrap, client, { origin: '', serverNow: 0 })
      const { keyC2s, keyS2c } = made.session
      expect(read).toMatchObject({ ok: true, session: { keyC2s: new Uint8Array(keyC2s), saltBytes: 32 } })
      expect(read.ok && Buffer.from(read.session.keyS2c).equals(keyS2c)).toBe(true)
      expect(Buffer.from(keyC2s).equals(keyS2c)).toBe(false)
    }),
    { numRuns: 20 },
  )
})

test('base64url decoder accepts only text that encodes to itself', { tags: 'bootstrap-and-session/1' }, () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (given) => {
      const text = secure.encodeBase64url(given)
      expect(secure.decodeBase64url(text)).toEqual(Buffer.from(given))
      for (const other of [`${text}=`, `${text} `, ` ${text}`, `${text}\n`, `${text}A=`]) {
        expect(secure.decodeBase64url(other)).toBeUndefined()
      }
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'AB_-+/= \n09.') }), (text) => {
      const decoded = secure.decodeBase64url(text)
      if (decoded !== undefined) expect(secure.encodeBase64url(decoded)).toBe(text)
    }),
  )
})

test('any two transport vectors have different session keys', () => {
  const keys = vectors.positive.flatMap(({ derived }) => [derived.keyC2s, derived.keyS2c])
  expect(new Set(keys).size).toBe(24)
})
