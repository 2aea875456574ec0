import { describe, expect, it } from 'vitest'
import { decrypt, encrypt } from '../../src/secure/aead.js'

describe('AES-256-GCM', () => {
  const aad = new Uint8Array()
  it.each([
    ['The key must have 32 bytes', 31, 12],
    ['The key must have 32 bytes', 33, 12],
    ['The IV must have 12 bytes', 32, 11],
    ['The IV must have 12 bytes', 32, 13],
  ])('encryption and decryption throw "%s" for a key of %i and an IV of %i bytes', (message, keyBytes, ivBytes) => {
    const [key, iv] = [new Uint8Array(keyBytes), new Uint8Array(ivBytes)]
    expect(() => encrypt(key, iv, 'x', aad)).toThrow(new RangeError(message))
    expect(() => decrypt(key, iv, new Uint8Array(17), aad)).toThrow(new RangeError(message))
  })
})
