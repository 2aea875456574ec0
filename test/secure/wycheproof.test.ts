import { describe, expect, it, test } from 'vitest'
import { decrypt, encrypt } from '../../src/secure/aead.js'
import * as secure from '../../src/secure/index.js'
import { isPublicKey } from '../../src/secure/public-key.js'
import { jwkCases, jwkFile, oneOfEachKind, pointCases, pointFile, skippedJwkIds, wrongCases } from './ecdh-cases.js'
import { loadWycheproof } from './wycheproof-file.js'

const hex = (text: string) => Buffer.from(text, 'hex')
const asHex = (given: Uint8Array) => Buffer.from(given).toString('hex')
/** Scalars of the files have leading zeros or lack them. */
const scalar = (text: string) => hex(text.padStart(64, '0').slice(-64))

describe('ECDH with points', () => {
  it('none of 355 cases is skipped', () => {
    expect(pointCases).toHaveLength(pointFile.numberOfTests)
    expect(pointCases).toHaveLength(355)
  })

  it('valid ones agree on both sides; invalid ones, and the compressed key of case 2, are refused', () => {
    expect(wrongCases(oneOfEachKind(pointCases))).toEqual([])
    expect(pointCases.filter(({ result }) => result === 'acceptable').map(({ tcId }) => tcId)).toEqual([2])
  })
})

describe('ECDH with JSON Web Keys, as points', () => {
  it('1 of 353 cases is skipped: 347, which only a curve name makes invalid', () => {
    expect(jwkCases).toHaveLength(jwkFile.numberOfTests)
    expect(jwkCases).toHaveLength(353)
    expect(jwkCases.filter(({ tcId }) => skippedJwkIds.includes(tcId)).map((it) => it.curve)).toEqual(['P-256K'])
  })

  it('invalid ones are refused, and valid ones that no point case has agree on both sides', () => {
    const comments = new Set(pointCases.map(({ comment }) => comment))
    const cases = oneOfEachKind(jwkCases).filter((it) => it.result !== 'valid' || !comments.has(it.comment))
    expect(wrongCases(cases.filter(({ tcId }) => !skippedJwkIds.includes(tcId)))).toEqual([])
  })
})

describe.each([
  ['client', secure.nobleHkdf],
  ['server', secure.nodeHkdf],
])('HKDF-SHA256 of the %s', (_, hkdf) => {
  type Test = { ikm: string; salt: string; info: string; size: number; okm: string }
  const file = loadWycheproof<Test>('hkdf_sha256')
  const cases = file.testGroups.flatMap(({ tests }) => tests)

  it('none of 86 cases is skipped: valid ones give their bytes, the three above 8160 bytes are refused', () => {
    expect(cases).toHaveLength(86)
    for (const { ikm, salt, info, size, okm, result } of cases) {
      const prk = hkdf.extract(hex(salt), hex(ikm))
      if (result === 'valid') expect(asHex(hkdf.expand(prk, hex(info), size))).toBe(okm)
      else expect(() => hkdf.expand(prk, hex(info), size)).toThrow(RangeError)
    }
    expect(cases.filter(({ result }) => result === 'invalid')).toHaveLength(3)
  })
})

describe('AES-GCM', () => {
  type Test = { key: string; iv: string; aad: string; msg: string; ct: string; tag: string }
  type Group = { ivSize: number; keySize: number; tagSize: number }
  const file = loadWycheproof<Test, Group>('aes_gcm')
  const isOurs = ({ ivSize, keySize, tagSize }: Group) => keySize === 256 && ivSize === 96 && tagSize === 128
  const ours = file.testGroups.filter(isOurs).flatMap(({ tests }) => tests)
  const others = file.testGroups.filter((group) => !isOurs(group))

  it('66 of 316 cases are of the suite: key 256, IV 96, tag 128 bits', () => {
    expect(file.numberOfTests).toBe(316)
    expect(ours).toHaveLength(66)
  })

  it('valid ones encrypt and decrypt, invalid ones do not decrypt', () => {
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

  it('the answers of 250 cases are skipped, keys of 128 or 192 bits and IVs of other lengths: these are refused', () => {
    const skipped = others.flatMap(({ tests }) => tests)
    expect(skipped).toHaveLength(250)
    for (const { key, iv, aad, msg, ct, tag } of skipped) {
      expect(() => decrypt(hex(key), hex(iv), hex(ct + tag), hex(aad))).toThrow(RangeError)
      expect(() => encrypt(hex(key), hex(iv), hex(msg), hex(aad))).toThrow(RangeError)
    }
  })
})

test('what is shorter than a tag does not decrypt', () => {
  for (const length of [0, 4, 12, 15]) {
    expect(decrypt(new Uint8Array(32), new Uint8Array(12), new Uint8Array(length), new Uint8Array())).toBeUndefined()
  }
})

test('keys in the hybrid form are refused', () => {
  const { publicKey } = secure.clientKeyPairOf(scalar('1'))
  for (const first of [0x06, 0x07]) expect(isPublicKey(Uint8Array.of(first, ...publicKey.subarray(1)))).toBe(false)
})
