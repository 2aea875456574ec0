import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, fingerprint } from '../../src/domain/canonical.js'

fc.configureGlobal({ seed: 1 })

/** Returns an equal value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const)
  return Object.fromEntries(entries.reverse())
}

describe('canonical JSON', () => {
  it('canonical JSON does not depend on the order of members, at any depth', () => {
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
  ])('canonical JSON of %s equals that of %s', (left, right) => {
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
  ])('canonical JSON of %s differs from that of %s', (left, right) => {
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

  it('request fingerprint is the same for an absent and an empty body', () => {
    expect(fingerprint('POST', '/x', undefined)).toBe(fingerprint('POST', '/x', {}))
  })

  it('request fingerprints differ if method, path or body differ but concatenate to equal text', () => {
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
