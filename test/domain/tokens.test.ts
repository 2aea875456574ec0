import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  hashToken,
  isWellFormedToken,
  makeToken,
  tokenChecksum,
  tokenKind,
  tokenPrefixOf,
} from '../../src/domain/tokens.js'
import vectors from '../vectors/credentials.json' with { type: 'json' }

fc.configureGlobal({ seed: 1 })

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefixes = ['sop_', 'sbot_', 'opk_'] as const

/** A fake random source that returns `bytes` in order, again from the first after the last. */
function source(bytes: readonly number[]) {
  let at = 0
  return (size: number) => Uint8Array.from({ length: size }, () => bytes[at++ % bytes.length] as number)
}

/** The random bytes from which `makeToken` makes these symbols. */
const bytesOf = (symbols: string) => [...symbols].map((symbol) => BASE62.indexOf(symbol))

describe('token generation', { tags: 'token-form/1' }, () => {
  it.each(vectors.tokens)(
    'makeToken appends the checksum to $without_checksum and returns $token',
    ({ without_checksum, token }) => {
      const prefix = without_checksum.startsWith('sop_') ? 'sop_' : 'sbot_'
      expect(makeToken(prefix, source(bytesOf(without_checksum.slice(prefix.length))))).toBe(token)
    },
  )

  it.each(prefixes)('token with the prefix %s has 40 characters of base 62 and is well-formed', (prefix) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 300, maxLength: 300 }), (bytes) => {
        // makeToken discards bytes from 248 on; the final 0 prevents an endless loop.
        const token = makeToken(prefix, source([...bytes, 0]))
        expect(token).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{36}$`))
        expect(isWellFormedToken(token)).toBe(true)
        expect(tokenKind(token)).toBe(prefix)
      }),
    )
  })

  it('token symbols are equally frequent because random bytes from 248 on are discarded', () => {
    const made = makeToken('sop_', source([255, 248, 0, 247, 250, 62, 124, 186, 61]))
    expect(made.slice(4, 34)).toBe('0z000z'.repeat(5))
    const uses = new Map<string, number>()
    for (let byte = 0; byte < 248; byte++) {
      const symbol = makeToken('sop_', source([byte]))[4] as string
      uses.set(symbol, (uses.get(symbol) ?? 0) + 1)
    }
    expect(uses.size).toBe(62)
    expect(new Set(uses.values())).toEqual(new Set([4]))
  })
})

describe('token format', () => {
  it.each(vectors.tokens)('token $token is well-formed', ({ token }) => {
    expect(isWellFormedToken(token)).toBe(true)
  })

  it('token with any single character changed is malformed', { tags: 'token-form/1' }, () => {
    for (const prefix of prefixes) {
      const token = makeToken(prefix, source([...Array(62).keys()].reverse()))
      for (let i = 0; i < token.length; i++) {
        for (const other of `${BASE62}_-`) {
          if (other === token[i]) continue
          expect(isWellFormedToken(token.slice(0, i) + other + token.slice(i + 1))).toBe(false)
        }
      }
    }
  })

  it.each([
    ['a missing character', 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPi'],
    ['an extra character', 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ0'],
    ['a trailing line feed', 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ\n'],
    ['a leading space', ' sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'],
    ['another prefix', 'xop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'],
    ['the prefix in capitals', 'SOP_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'],
    ['the prefix of another kind', 'opk_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'],
    ['no characters', ''],
  ])('token with %s is malformed', (_, value) => {
    expect(isWellFormedToken(value)).toBe(false)
  })
})

it('checksum of a token is computed from all characters before it; undefined for another form', () => {
  const token = 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'
  expect(tokenChecksum(token)).toBe(token.slice(-6))
  expect(tokenChecksum(`${token.slice(0, -6)}000000`)).toBe(token.slice(-6))
  for (const other of [token.slice(1), `x${token}`, `${token}x`]) expect(tokenChecksum(other)).toBeUndefined()
})

it('kind of a token depends only on its prefix', () => {
  expect(tokenKind('sop_')).toBe('sop_')
  expect(tokenKind('sbot_x')).toBe('sbot_')
  expect(tokenKind('opk_not well formed')).toBe('opk_')
  for (const value of ['', 'sop', 'SOP_x', ' sop_x', 'eyJhbGciOiJIUzI1NiJ9.e30.x']) expect(tokenKind(value)).toBeNull()
})

it('hash of a token is its base64url SHA-256', { tags: 'token-form/1' }, () => {
  const value = vectors.tokens[0]?.token as string
  expect(hashToken(value)).toBe(createHash('sha256').update(value).digest('base64url'))
})

it('stored prefix of a token is its first eight characters', { tags: 'token-form/1' }, () => {
  expect(tokenPrefixOf('sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ')).toBe('sop_H2vn')
})
