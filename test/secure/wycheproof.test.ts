import { describe, expect, it, test } from 'vitest'
import { decrypt, encrypt } from '../../src/secure/aead.js'
import * as secure from '../../src/secure/index.js'
import { isPublicKey } from '../../src/secure/public-key.js'
import { jwkCases, jwkFile, oneOfEachKind, pointCases, pointFile, skippedJwkIds, wrongCases } from './ecdh-cases.js'
import { loadWycheproof } from './wycheproof-file.js'

const hex = (text: string) => Buffer.from(text, 'hex')
const asHex = (given: Uint8Array) => Buffer.from(given).toString('hex')
/** Decodes a private key to 32 bytes: Wycheproof files write it with extra or missing leading zeros. */
const scalar = (text: string) => hex(text.padStart(64, '0').slice(-64))

describe('Wycheproof ECDH with points', () => {
  it('Wycheproof file of ECDH points has 355 cases', () => {
    expect(pointCases).toHaveLength(pointFile.numberOfTests)
    expect(pointCases).toHaveLength(355)
  })

  it('ECDH points give the shared secret, or are refused if invalid', { tags: 'public-keys/1' }, () => {
    expect(wrongCases(oneOfEachKind(pointCases))).toEqual([])
    expect(pointCases.filter(({ result }) => result === 'acceptable').map(({ tcId }) => tcId)).toEqual([2])
  })
})

describe('Wycheproof ECDH with JSON Web Keys, as points', () => {
  it('Wycheproof file of JSON Web Keys has 353 cases, of which only 347 is skipped', () => {
    expect(jwkCases).toHaveLength(jwkFile.numberOfTests)
    expect(jwkCases).toHaveLength(353)
    expect(jwkCases.filter(({ tcId }) => skippedJwkIds.includes(tcId)).map((it) => it.curve)).toEqual(['P-256K'])
  })

  it('invalid JSON Web Keys are refused; valid ones give the shared secret', () => {
    const comments = new Set(pointCases.map(({ comment }) => comment))
    const cases = oneOfEachKind(jwkCases).filter((it) => it.result !== 'valid' || !comments.has(it.comment))
    expect(wrongCases(cases.filter(({ tcId }) => !skippedJwkIds.includes(tcId)))).toEqual([])
  })
})

describe.each([
  ['client', secure.nobleHkdf],
  ['server', secure.nodeHkdf],
])('Wycheproof HKDF-SHA256 of the %s', (_, hkdf) => {
  type Test = { ikm: string; salt: string; info: string; size: number; okm: string }
  const file = loadWycheproof<Test>('hkdf_sha256')
  const cases = file.testGroups.flatMap(({ tests }) => tests)

  it('HKDF matches all 86 Wycheproof cases; above 8,160 bytes of output it throws a RangeError', () => {
    expect(cases).toHaveLength(86)
    for (const { ikm, salt, info, size, okm, result } of cases) {
      const prk = hkdf.extract(hex(salt), hex(ikm))
      if (result === 'valid') expect(asHex(hkdf.expand(prk, hex(info), size))).toBe(okm)
      else expect(() => hkdf.expand(prk, hex(info), size)).toThrow(RangeError)
    }
    expect(cases.filter(({ result }) => result === 'invalid')).toHaveLength(3)
  })
})

describe('Wycheproof AES-GCM', () => {
  type Test = { key: string; iv: string; aad: string; msg: string; ct: string; tag: string }
  type Group = { ivSize: number; keySize: number; tagSize: number }
  const file = loadWycheproof<Test, Group>('aes_gcm')
  const isOurs = ({ ivSize, keySize, tagSize }: Group) => keySize === 256 && ivSize === 96 && tagSize === 128
  const ours = file.testGroups.filter(isOurs).flatMap(({ tests }) => tests)
  const others = file.testGroups.filter((group) => !isOurs(group))

  it('Wycheproof AES-GCM file has 66 cases with the key, IV and tag lengths of the transport', () => {
    expect(file.numberOfTests).toBe(316)
    expect(ours).toHaveLength(66)
  })

  it('valid AES-GCM cases of Wycheproof encrypt and decrypt, invalid ones do not decrypt', () => {
    for (const { key, iv, aad, msg, ct, tag, result } of ours) {
      const opened = decrypt(hex(key), hex(iv), hex(ct + tag), hex(aad))
      if (result !== 'valid') {
        expect(opened).toBeUndefined()
        continue
      }
      expect(opened && asHex(opened)).toBe(msg)
      expect(asHex(encrypt(hex(key), hex(iv), hex(msg), hex(aad)))).toBe(ct + tag)
    }
    expect(ours.filter(({ result }) => result === 'invalid').length).toBeGreaterThan(20)
  })

  it('250 AES-GCM cases of Wycheproof with other key or IV lengths throw a RangeError', () => {
    const skipped = others.flatMap(({ tests }) => tests)
    expect(skipped).toHaveLength(250)
    for (const { key, iv, aad, msg, ct, tag } of skipped) {
      expect(() => decrypt(hex(key), hex(iv), hex(ct + tag), hex(aad))).toThrow(RangeError)
      expect(() => encrypt(hex(key), hex(iv), hex(msg), hex(aad))).toThrow(RangeError)
    }
  })
})

test('AES-GCM does not decrypt a text shorter than its tag', () => {
  for (const length of [0, 4, 12, 15]) {
    expect(decrypt(new Uint8Array(32), new Uint8Array(12), new Uint8Array(length), new Uint8Array())).toBeUndefined()
  }
})

test('public key in the hybrid form of SEC 1 is rejected', () => {
  const { publicKey } = secure.clientKeyPairOf(scalar('1'))
  for (const first of [0x06, 0x07]) expect(isPublicKey(Uint8Array.of(first, ...publicKey.subarray(1)))).toBe(false)
})
