import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IDEMPOTENCY_LIFETIME_MS, parseIdempotencyKey, replayableRecord } from '../../src/domain/idempotency.js'
import type { IdempotencyRecord } from '../../src/domain/rows.js'

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

describe('Idempotency-Key header', () => {
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

  it('equal request gets the recorded response until the idempotency record expires', () => {
    expect(replayableRecord(row(), 'print', 1_999)).toEqual(row())
    expect(replayableRecord(row(), 'print', 2_000)).toBeNull()
  })

  it('different request with the same idempotency key is refused until the record expires', () => {
    expect(replayableRecord(row(), 'other', 1_999)).toMatchObject({ ok: false, code: 'IDEMPOTENCY_KEY_REUSED' })
    expect(replayableRecord(row(), 'other', 2_000)).toBeNull()
  })

  it('idempotency record without expiry never expires', () => {
    const kept = row({ expires_at: null })
    expect(replayableRecord(kept, 'print', Number.MAX_SAFE_INTEGER)).toBe(kept)
    expect(replayableRecord(kept, 'other', Number.MAX_SAFE_INTEGER)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})
