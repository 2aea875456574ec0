import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canonicalJson,
  fingerprint,
  IDEMPOTENCY_LIFETIME_MS,
  type IdempotencyRecord,
  parseIdempotencyKey,
  replayableRecord,
} from '../../src/domain/idempotency.js'

fc.configureGlobal({ seed: 1 })

const row = (overrides: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  application_id: 'app_1',
  idempotency_key: 'k',
  fingerprint: 'print',
  status: 201,
  subject_id: 'vch_1',
  data: '{}',
  created_at: 1_000,
  expires_at: 2_000,
  ...overrides,
})

describe('Idempotency-Key header', { tags: 'idempotency-keys/2' }, () => {
  it.each([
    ['a', 'a'],
    ['!~', '!~'],
    ['"abc"', 'abc'],
    ['a"b', 'a"b'],
    ['"', '"'],
    ['"a', '"a'],
    ['a"', 'a"'],
    ['a""', 'a""'],
    ['""a""', '"a"'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('Idempotency-Key header %j parses to the key %j', (header, key) => expect(parseIdempotencyKey(header)).toBe(key))

  it.each([[''], ['""'], [' '], ['a b'], ['a\tb'], ['a\u0000'], ['é'], ['x'.repeat(256)], [`"${'x'.repeat(256)}"`]])(
    'Idempotency-Key header %j is malformed',
    (header) => expect(parseIdempotencyKey(header)).toBeNull(),
  )

  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 254,
  })

  it('unquoted Idempotency-Key header is used unchanged as the key, even with a quote at one end', () => {
    const unquoted = visible.filter((key) => !key.startsWith('"') && !key.endsWith('"'))
    for (const wrap of [(key: string) => key, (key: string) => `"${key}`, (key: string) => `${key}"`]) {
      fc.assert(fc.property(unquoted, (key) => parseIdempotencyKey(wrap(key)) === wrap(key)))
    }
  })

  it('quoted Idempotency-Key header of visible ASCII loses only its quotes', () => {
    fc.assert(fc.property(visible, (key) => parseIdempotencyKey(`"${key}"`) === key))
  })
})

describe('idempotency record', () => {
  it('idempotency record is kept for 30 days', () => expect(IDEMPOTENCY_LIFETIME_MS).toBe(30 * 86_400_000))

  it('call whose idempotency key has no stored record is executed', () =>
    expect(replayableRecord(undefined, 'print', 1_500)).toBeNull())

  it('equal request gets the recorded response until the record expires', { tags: 'idempotency-keys/1' }, () => {
    expect(replayableRecord(row(), 'print', 1_999)).toEqual(row())
    expect(replayableRecord(row(), 'print', 2_000)).toBeNull()
  })

  it('different request with the same key is refused until the record expires', { tags: 'idempotency-keys/1' }, () => {
    expect(replayableRecord(row(), 'other', 1_999)).toMatchObject({ ok: false, code: 'IDEMPOTENCY_KEY_REUSED' })
    expect(replayableRecord(row(), 'other', 2_000)).toBeNull()
  })

  it('idempotency record without expiry never expires', () => {
    const kept = row({ expires_at: null })
    expect(replayableRecord(kept, 'print', Number.MAX_SAFE_INTEGER)).toBe(kept)
    expect(replayableRecord(kept, 'other', Number.MAX_SAFE_INTEGER)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

/** Returns an equal value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const)
  return Object.fromEntries(entries.reverse())
}

describe('canonical JSON', () => {
  it('canonical JSON does not depend on the order of members, at any depth', { tags: 'idempotency-keys/3' }, () => {
    expect(canonicalJson({ b: 1, a: { d: [2, { f: 1, e: 2 }], c: 3 } })).toBe(
      '{"a":{"c":3,"d":[2,{"e":2,"f":1}]},"b":1}',
    )
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    )
  })

  it('canonical JSON parses to the original value, whose canonical JSON is the same text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value)
        // JSON serializes -0 as 0.
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
    )
  })

  it('canonical JSON sorts member names by UTF-16 code unit, numeric names too', () => {
    expect(canonicalJson({ '10': 1, '9': 1, a: 1, B: 1, '\u{1f600}': 1, '\ufb33': 1 })).toBe(
      '{"10":1,"9":1,"B":1,"a":1,"\u{1f600}":1,"\ufb33":1}',
    )
  })

  it.each([
    ['1.0', '1'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['1e2', '100'],
    ['0.10', '0.1'],
    ['1E+21', '1e21'],
    ['"\\u0041\\/\\u00e9"', '"A/é"'],
    ['"\\u000a"', '"\\n"'],
    ['{ "a" : [ ] }', '{"a":[]}'],
  ])('%s and %s have the same canonical JSON', (left, right) => {
    expect(canonicalJson(JSON.parse(left))).toBe(canonicalJson(JSON.parse(right)))
  })

  it.each([
    ['1', '"1"'],
    ['null', '"null"'],
    ['{}', '[]'],
    ['{"a":null}', '{}'],
    ['[1,2]', '[2,1]'],
    ['["a,b"]', '["a","b"]'],
    ['["a\\",\\"b"]', '["a","b"]'],
    ['"\\\\n"', '"\\n"'],
    ['"é"', '"e\\u0301"'],
    ['1e999', 'null'],
    ['1e999', '-1e999'],
  ])('%s and %s have different canonical JSON', (left, right) => {
    expect(canonicalJson(JSON.parse(left))).not.toBe(canonicalJson(JSON.parse(right)))
  })

  it('canonical JSON of undefined is {}, and omits undefined members', () => {
    expect(canonicalJson(undefined)).toBe('{}')
    expect(canonicalJson({ b: undefined, a: 1, c: undefined })).toBe('{"a":1}')
  })
})

describe('request fingerprint', () => {
  it('request fingerprint is the base64url SHA-256 of method, path and canonical body', () => {
    const expected = createHash('sha256').update('["POST","/api/v1/x",{"a":1,"b":2}]').digest('base64url')
    expect(fingerprint('POST', '/api/v1/x', { b: 2, a: 1 })).toBe(expected)
  })

  it('request fingerprint is the same for an absent and an empty body', { tags: 'idempotency-keys/3' }, () => {
    expect(fingerprint('POST', '/x', undefined)).toBe(fingerprint('POST', '/x', {}))
  })

  it('request fingerprints differ if only their concatenated text is equal', { tags: 'idempotency-keys/3' }, () => {
    const all = [
      fingerprint('POST', '/x', {}),
      fingerprint('PUT', '/x', {}),
      fingerprint('POST', '/y', {}),
      fingerprint('POST', '/x', { a: 1 }),
      fingerprint('POST/x', '', {}),
      fingerprint('POST","/x', '', {}),
      fingerprint('POST', '', '/x'),
      fingerprint('POST', '/x', '{}'),
    ]
    expect(new Set(all).size).toBe(all.length)
  })
})
