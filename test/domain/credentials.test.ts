import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ALPHABET, checkSymbol } from '../../src/contract/credential-symbols.js'
import { codeHint, deriveCredential, indexCredential, parseCredential } from '../../src/domain/credentials.js'
import vectors from '../vectors/credentials.json' with { type: 'json' }

fc.configureGlobal({ seed: 1 })

const symbols = (length: number) =>
  fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: length, maxLength: length })
const malformed = { ok: false, reason: 'malformed' }
type Parsed = ReturnType<typeof parseCredential>
const hasFailedCheck = (parsed: Parsed) => !parsed.ok && parsed.reason === 'check_failed'
const group = (code: string) => (code.match(/.{4}/g) as string[]).join('-')
const key = Buffer.from('a key of thirty-two made-up bytes')

function swapped(text: string, i: number, j: number): string {
  const all = [...text]
  all[i] = text[j] as string
  all[j] = text[i] as string
  return all.join('')
}

/** Pairs of positions of a code whose symbols differ, the lower position first. */
const swaps = (code: string) =>
  Array.from(code, (symbol, i) =>
    Array.from(code, (other, j) => [i, j, other !== symbol] as const).filter(([, j, differs]) => j > i && differs),
  )
    .flat()
    .map(([i, j]) => [i, j] as const)

describe('check symbol', () => {
  it.each([
    ['redeem_code', 15, ''],
    ['qr_token', 32, 'VQ1-'],
  ] as const)('check symbol of a %s detects every wrong symbol', { tags: 'credentials/2' }, (type, length, prefix) => {
    fc.assert(
      fc.property(symbols(length), (body) => {
        const code = body + checkSymbol(body)
        const wrong = Array.from(code, (symbol, i) =>
          [...ALPHABET].filter((it) => it !== symbol).map((it) => prefix + code.slice(0, i) + it + code.slice(i + 1)),
        ).flat()
        expect(wrong).toHaveLength((length + 1) * 31)
        expect(wrong.filter((it) => !hasFailedCheck(parseCredential(type, it)))).toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  it('check symbol of a redeem code detects every swap of two different symbols', { tags: 'credentials/2' }, () => {
    fc.assert(
      fc.property(symbols(15), (body) => {
        const code = body + checkSymbol(body)
        const passed = swaps(code).filter(([i, j]) => {
          return !hasFailedCheck(parseCredential('redeem_code', swapped(code, i, j)))
        })
        expect(passed).toEqual([])
      }),
      { numRuns: 50 },
    )
  })

  it('check symbol of a QR token misses only swaps of the two pairs with equal weights', () => {
    fc.assert(
      fc.property(symbols(32), (body) => {
        const code = body + checkSymbol(body)
        const passed = swaps(code).filter(([i, j]) => parseCredential('qr_token', `VQ1-${swapped(code, i, j)}`).ok)
        const equalWeights = [
          [0, 31],
          [30, 32],
        ] as const
        expect(passed).toEqual(equalWeights.filter(([i, j]) => code[i] !== code[j]))
      }),
      { numRuns: 20 },
    )
  })
})

describe('redeem code', () => {
  it.each(vectors.redeem_codes)('redeem code $redeem_code parses to its symbols', ({ symbols, check, redeem_code }) => {
    expect(parseCredential('redeem_code', redeem_code)).toEqual({ ok: true, normalised: symbols + check })
  })

  it.each(vectors.normalises_to.inputs)('redeem code %j is normalised to the code of the test vector', (input) => {
    const { redeem_code } = vectors.normalises_to
    expect(parseCredential('redeem_code', input)).toEqual(parseCredential('redeem_code', redeem_code))
    expect(parseCredential('redeem_code', input).ok).toBe(true)
  })

  it('redeem code ignores case, separators and O, I or L typed for 0 and 1', { tags: 'credentials/3' }, () => {
    const decoration = fc.string({
      unit: fc.constantFrom(
        ...[' ', '\t', '\n', '\u00a0', '\u0085', '\u2003', '\u3000', '-', '\u2010', '\u2013', '\u2014', '\u2212'],
        ...['\ufe63', '\uff0d', '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u200e', '\u202a'],
      ),
      maxLength: 3,
    })
    const typed = fc.record({ decoration, form: fc.nat(5) })
    fc.assert(
      fc.property(symbols(15), fc.array(typed, { minLength: 16, maxLength: 16 }), decoration, (body, how, tail) => {
        const code = body + checkSymbol(body)
        const input = [...code].map((symbol, i) => `${how[i]?.decoration}${spelling(symbol, how[i]?.form ?? 0)}`)
        expect(parseCredential('redeem_code', input.join('') + tail)).toEqual({ ok: true, normalised: code })
      }),
    )
  })

  it('redeem code ignores every Unicode dash and white space', { tags: 'credentials/3' }, () => {
    const { redeem_code } = vectors.normalises_to
    const expected = parseCredential('redeem_code', redeem_code)
    const dropped = /[\p{Pd}\p{White_Space}]/u
    for (let point = 0; point <= 0x10ffff; point++) {
      const character = String.fromCodePoint(point)
      if (!dropped.test(character)) continue
      expect([point, parseCredential('redeem_code', redeem_code.replaceAll('-', character))]).toEqual([point, expected])
    }
  })

  it('normalised redeem code is not changed by another normalisation', () => {
    fc.assert(
      fc.property(symbols(15), (body) => {
        const once = parseCredential('redeem_code', group(body + checkSymbol(body)).toLowerCase())
        expect(once.ok && parseCredential('redeem_code', once.normalised)).toEqual(once)
      }),
    )
  })

  it.each([
    ['the letter U', 'M9S3-46Q3-D25V-T4FU'],
    ['a symbol outside the alphabet', 'M9S3-46Q3-D25V-T4F!'],
    ['an accent', 'M9S3-46Q3-D25V-T4FJ\u0301'],
    ['a letter of another script', 'М9S3-46Q3-D25V-T4FJ'],
    ['an underscore between the groups', 'M9S3_46Q3_D25V_T4FJ'],
    ['a missing symbol', 'M9S3-46Q3-D25V-T4F'],
    ['an extra symbol', 'M9S3-46Q3-D25V-T4FJJ'],
    ['an extra symbol in front', 'XM9S3-46Q3-D25V-T4FJ'],
    ['a first group of one symbol', 'M-46Q3-D25V-T4FJ'],
    ['a first group of punctuation', '!!!!-46Q3-D25V-T4FJ'],
    ['two groups', 'M9S3-46Q3'],
    ['groups of one symbol', 'M9S3-4-D-T'],
    ['groups of punctuation', 'M9S3-!!!!-!!!!-!!!!'],
    ['a lone surrogate', 'M9S3-46Q3-D25V-T4F\ud800'],
    ['only separators', ' -\u200b'],
    ['no characters', ''],
    ['the value of a QR token', 'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ'],
  ])('redeem code with %s is rejected as malformed', (_, input) => {
    expect(parseCredential('redeem_code', input)).toEqual(malformed)
  })
})

describe('QR token', () => {
  it.each(vectors.qr_tokens)('QR token $qr_token is parsed unchanged', ({ qr_token }) => {
    expect(parseCredential('qr_token', qr_token)).toEqual({ ok: true, normalised: qr_token })
    expect(parseCredential('qr_token', ` \t${qr_token}\r\n`)).toEqual({ ok: true, normalised: qr_token })
  })

  const good = 'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ'
  it.each<[string, string]>([
    ['lower case', good.toLowerCase()],
    ['one lower-case symbol', good.replace('N', 'n')],
    ...['Q0', 'Q1', 'Q6', 'd1', 'd2'].map((it): [string, string] => [`the scanner prefix ${it}`, `]${it}${good}`]),
    ['a scanner prefix and symbols in lower case', `]q1${good.toLowerCase()}`],
    ['a scanner prefix, lower case and a line end', `]Q3${good.toLowerCase()}\r\n`],
    ['marks of direction', `\u200e\u202a${good}\u202c\u200f`],
    ['a zero-width space and a byte order mark', `\ufeff VQ1-\u200b${good.slice(4)} \u2060`],
    ['no-break spaces around it', `\u00a0${good}\u3000`],
  ])('QR token with %s is that token', (_, input) => {
    expect(parseCredential('qr_token', input)).toEqual({ ok: true, normalised: good })
  })

  it.each<[string, string]>([
    ...['Q7', 'd3', 'C1', 'Q'].map((it): [string, string] => [`the prefix ]${it}`, `]${it}${good}`]),
    ['two scanner prefixes', `]Q1]Q1${good}`],
    ['a space inside', good.replace('-', '- ')],
    ['a dash inside', good.replace('HY', 'H-Y')],
    ['full-width digits', good.replace('11', '\uff11\uff11')],
    ['O for 0', good.replace('0Y', 'OY')],
    ['another prefix', good.replace('VQ1', 'VQ2')],
    ['an extra symbol in front', `X${good}`],
    ['no prefix', good.slice(4)],
    ['a missing symbol', good.slice(0, -1)],
    ['an extra symbol', `${good}Z`],
    ['the value of a redeem code', 'M9S3-46Q3-D25V-T4FJ'],
  ])('QR token with %s is rejected as malformed', (_, input) => {
    expect(parseCredential('qr_token', input)).toEqual(malformed)
  })
})

describe('derivation of credentials', () => {
  it.each(['redeem_code', 'qr_token'] as const)(
    'derived credential of type %s is well-formed and deterministic',
    (type) => {
      fc.assert(
        fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.string(), fc.nat(1000), (key, id, counter) => {
          const value = deriveCredential(key, id, type, counter)
          expect(value).toMatch(
            type === 'redeem_code' ? /^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/ : /^VQ1-[0-9A-Z]{33}$/,
          )
          const normalised = type === 'redeem_code' ? value.replaceAll('-', '') : value
          expect(parseCredential(type, value)).toEqual({ ok: true, normalised })
          expect(deriveCredential(key, id, type, counter)).toBe(value)
        }),
      )
    },
  )

  it('derived credential encodes the first bits of the HMAC', { tags: 'credentials/4' }, () => {
    const bits = [...createHmac('sha256', key).update('qr_token:0:vch_1').digest()]
      .map((byte) => byte.toString(2).padStart(8, '0'))
      .join('')
    const expected = Array.from({ length: 32 }, (_, i) => ALPHABET[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)])
    expect(deriveCredential(key, 'vch_1', 'qr_token', 0).slice(4, -1)).toBe(expected.join(''))
  })

  it('derived credentials differ by key, voucher, type or counter, even if concatenated equally', () => {
    const other = Buffer.from('another key of thirty-two bytes..')
    const values = [
      deriveCredential(key, 'vch_1', 'redeem_code', 0),
      deriveCredential(other, 'vch_1', 'redeem_code', 0),
      deriveCredential(key, 'vch_2', 'redeem_code', 0),
      deriveCredential(key, 'vch_1', 'redeem_code', 1),
      deriveCredential(key, '1:vch_1', 'redeem_code', 0),
      deriveCredential(key, 'vch_1', 'redeem_code', 10),
      deriveCredential(key, '0vch_1', 'redeem_code', 1),
    ]
    expect(new Set(values).size).toBe(values.length)
    const code = deriveCredential(key, 'vch_1', 'redeem_code', 0).replaceAll('-', '')
    expect(deriveCredential(key, 'vch_1', 'qr_token', 0)).not.toContain(code.slice(0, 15))
  })
})

describe('credential index', () => {
  it('credential index is the base64url HMAC-SHA256 of type and value, for every key', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), text, (bytes, value) => {
        const expected = createHmac('sha256', bytes).update(`redeem_code:${value}`).digest('base64url')
        expect(indexCredential(bytes, 'redeem_code', value)).toBe(expected)
        // The second time with the cached pads of the key.
        expect(indexCredential(bytes, 'redeem_code', value)).toBe(expected)
      }),
    )
    expect(indexCredential(key, 'redeem_code', 'M9S346Q3D25VT4FJ')).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })

  it('credential index with a key of 64 bytes is an HMAC, and a longer key throws a RangeError', () => {
    const block = Buffer.alloc(64, 1)
    const expected = createHmac('sha256', block).update('qr_token:a').digest('base64url')
    expect(indexCredential(block, 'qr_token', 'a')).toBe(expected)
    const tooLong = new RangeError('"key" must have at most 64 bytes')
    expect(() => indexCredential(Buffer.alloc(65), 'qr_token', 'a')).toThrow(tooLong)
  })

  it('credential index differs by type, key and value', () => {
    const other = Buffer.from('another key of thirty-two bytes..')
    const indexes = [
      indexCredential(key, 'redeem_code', 'same'),
      indexCredential(key, 'qr_token', 'same'),
      indexCredential(other, 'redeem_code', 'same'),
      indexCredential(key, 'redeem_code', 'different'),
    ]
    expect(new Set(indexes).size).toBe(indexes.length)
  })
})

it('hint of a redeem code is its last four symbols, with or without dashes', { tags: 'credentials/4' }, () => {
  expect(codeHint('M9S3-46Q3-D25V-T4FJ')).toBe('T4FJ')
  expect(codeHint('M9S346Q3D25VT4FJ')).toBe('T4FJ')
})

/** Another spelling of a symbol of a redeem code that parses to the symbol. */
function spelling(symbol: string, form: number): string {
  if (symbol === '0') return ['0', 'O', 'o', '\uff10', '\uff2f', '\uff4f'][form] as string
  if (symbol === '1') return ['1', 'I', 'i', 'L', 'l', '\uff11'][form] as string
  if (form < 2) return symbol
  return form < 4 ? symbol.toLowerCase() : String.fromCodePoint((symbol.codePointAt(0) as number) + 0xfee0)
}
