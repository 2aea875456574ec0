import { expect, it } from 'vitest'
import * as secure from '../../src/secure/index.js'
import { makeRandom } from './fake-server.js'

const seal = (sidLength: number, plaintextBytes: number) => {
  const key = new Uint8Array(32)
  const session = { kid: 'k', sid: 's'.repeat(sidLength), brand: 'platform', origin: '', expiresAt: 0, saltBytes: 32 }
  const plaintext = new Uint8Array(plaintextBytes)
  return secure.sealRequest(plaintext, { ...session, keyC2s: key, keyS2c: key }, 1, makeRandom('dispatch'))
}
const sizeOf = (sealed: ReturnType<typeof seal>) =>
  sealed.ok ? Buffer.byteLength(sealed.request.body ?? '') : sealed.code

it('encrypted request may have exactly the maximum size of an envelope, not one byte more', () => {
  // A longer sid fills the envelope to the byte.
  const bytes = 196_000
  const rest = secure.MAX_ENVELOPE_BYTES - (sizeOf(seal(1, bytes)) as number)
  expect(sizeOf(seal(1 + rest, bytes))).toBe(secure.MAX_ENVELOPE_BYTES)
  expect(sizeOf(seal(2 + rest, bytes))).toBe('SECURE_ENVELOPE_TOO_LARGE')
})
