import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hmacSha256 } from '../../src/domain/hmac.js'

fc.configureGlobal({ seed: 1 })

describe('hmacSha256', () => {
  it('hmacSha256 matches RFC 4231, test case 2', () => {
    const digest = hmacSha256(Buffer.from('Jefe'), 'what do ya want for nothing?', 'hex')
    expect(digest).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
  })

  it('hmacSha256 equals node:crypto for keys of at most one block and any text', () => {
    const key = fc.uint8Array({ minLength: 0, maxLength: 64 })
    const text = fc.string({ unit: 'grapheme', maxLength: 300 })
    const encoding = fc.constantFrom('hex' as const, 'base64url' as const, 'binary' as const)
    fc.assert(
      fc.property(key, text, encoding, (bytes, message, as) => {
        expect(hmacSha256(bytes, message, as)).toBe(createHmac('sha256', bytes).update(message).digest(as))
      }),
    )
  })

  it('hmacSha256 is deterministic and differs for another text under the same key', () => {
    const key = Buffer.alloc(32, 1)
    const first = hmacSha256(key, 'a', 'hex')
    expect(hmacSha256(key, 'b', 'hex')).not.toBe(first)
    expect(hmacSha256(key, 'a', 'hex')).toBe(first)
  })

  it('hmacSha256 throws a RangeError for a key longer than one block', () => {
    expect(() => hmacSha256(Buffer.alloc(65), 'a', 'hex')).toThrow(new RangeError('"key" must have at most 64 bytes'))
    const block = Buffer.alloc(64, 1)
    expect(hmacSha256(block, 'a', 'hex')).toBe(createHmac('sha256', block).update('a').digest('hex'))
  })
})
