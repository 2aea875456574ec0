import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALPHABET } from '../../src/contract/credential-symbols.js'
import { encodeBits, type IdPrefix, idsSince, newId } from '../../src/domain/ids.js'

fc.configureGlobal({ seed: 1 })

const prefixes: IdPrefix[] = ['app', 'tok', 'tpl', 'vch', 'rdm', 'bot', 'dlv', 'chat', 'req', 'flt']
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 })

describe('ids', () => {
  it('id is a prefix and a ULID: 48 bits of time, 80 random bits, Crockford base 32', { tags: 'ids/1' }, () => {
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), time, tenBytes, (prefix, nowMs, bytes) => {
        const id = newId(prefix, nowMs, () => bytes)
        expect(id).toMatch(new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`))
        const random = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
        expect(numberOf(id.slice(prefix.length + 1))).toBe((BigInt(nowMs) << 80n) | random)
      }),
    )
  })

  it('newId returns the ULIDs that were computed by hand', () => {
    expect(newId('vch', 0, () => new Uint8Array(10))).toBe('vch_00000000000000000000000000')
    expect(newId('vch', 2 ** 48 - 1, () => new Uint8Array(10).fill(255))).toBe('vch_7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
    expect(newId('app', 1469918176385, () => Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 33]))).toBe(
      'app_01ARYZ6S410000000000000011',
    )
  })

  it('ids of later times sort after ids of earlier times', () => {
    fc.assert(
      fc.property(time, time, tenBytes, tenBytes, (a, b, left, right) => {
        fc.pre(a !== b)
        expect(newId('vch', a, () => left) < newId('vch', b, () => right)).toBe(a < b)
      }),
    )
  })

  it.each([-1, 2 ** 48, Number.NaN, Number.POSITIVE_INFINITY])(
    'newId throws a RangeError for the time %d, which does not fit 48 bits',
    (nowMs) => {
      expect(() => newId('vch', nowMs, () => new Uint8Array(10))).toThrow(
        new RangeError(`"nowMs" must fit 48 bits, got ${nowMs}`),
      )
    },
  )

  it('ids since a time sort before every id made at this time and after every earlier id', () => {
    expect(idsSince('app', 1469918176385)).toBe('app_01ARYZ6S41')
    const id = (nowMs: number, byte: number) => newId('app', nowMs, () => new Uint8Array(10).fill(byte))
    expect(id(1469918176384, 255) < idsSince('app', 1469918176385)).toBe(true)
    expect(idsSince('app', 1469918176385) < id(1469918176385, 0)).toBe(true)
  })

  it('newId throws a RangeError if the random source returns fewer than 10 bytes', () => {
    expect(() => newId('vch', 0, () => new Uint8Array(9))).toThrow(new RangeError('16 symbols need more than 9 bytes'))
  })
})

it('base 32 encodes each five bits from the front as a symbol and drops an incomplete rest', () => {
  expect(encodeBits(Uint8Array.of(0b00001_000, 0b10_00011_0), 3)).toBe('123')
  expect(encodeBits(Uint8Array.of(255, 255, 255, 255, 255), 8)).toBe('ZZZZZZZZ')
  expect(encodeBits(new Uint8Array(0), 0)).toBe('')
})

function numberOf(ulid: string): bigint {
  return [...ulid].reduce((value, symbol) => value * 32n + BigInt(ALPHABET.indexOf(symbol)), 0n)
}
