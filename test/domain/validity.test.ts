import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Validity } from '../../src/contract/templates.js'
import { formatInstant, parseInstant } from '../../src/domain/time.js'
import { readValidity, windowOf } from '../../src/domain/validity.js'

fc.configureGlobal({ seed: 1 })

const DAY = 86_400_000
const at = (instant: string) => parseInstant(instant) as number

describe('validity of a template', () => {
  it('fixed validity of a template is parsed to a window in UTC', () => {
    const input = {
      type: 'fixed',
      starts_at: '2027-01-01T08:00:00+08:00',
      ends_at: '2027-02-01T00:00:00.1239Z',
    } as const
    expect(readValidity(input)).toEqual({
      ok: true,
      validity: { type: 'fixed', startsAt: '2027-01-01T00:00:00.000Z', endsAt: '2027-02-01T00:00:00.123Z' },
    })
  })

  it('relative validity of a template is parsed with defaults for absent members', () => {
    expect(readValidity({ type: 'relative', duration_days: 30 })).toEqual({
      ok: true,
      validity: { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null },
    })
    expect(
      readValidity({ type: 'relative', duration_days: 30, delay_days: 2, not_after: '2027-02-01T01:00:00+01:00' }),
    ).toEqual({
      ok: true,
      validity: { type: 'relative', durationDays: 30, delayDays: 2, notAfter: '2027-02-01T00:00:00.000Z' },
    })
  })

  it.each([
    ['the start', '2027-01-01T00:00:00Z'],
    ['the start under another offset', '2027-01-01T01:00:00+01:00'],
    ['less than a millisecond after the start', '2027-01-01T00:00:00.0009Z'],
    ['before the start', '2026-12-31T23:59:59.999Z'],
  ])('fixed validity is refused if the end of its window is %s', (_, ends_at) => {
    const read = readValidity({ type: 'fixed', starts_at: '2027-01-01T00:00:00Z', ends_at })
    expect(read).toEqual({
      ok: false,
      issue: { pointer: '/validity/ends_at', code: 'exclusiveMinimum', message: 'must be after starts_at' },
    })
  })

  it.each([
    ['/validity/starts_at', { type: 'fixed', starts_at: '2027-02-30T00:00:00Z', ends_at: '2027-03-30T00:00:00Z' }],
    ['/validity/ends_at', { type: 'fixed', starts_at: '2027-01-30T00:00:00Z', ends_at: '2027-02-30T00:00:00Z' }],
    ['/validity/not_after', { type: 'relative', duration_days: 1, not_after: '2027-01-31T24:00:00Z' }],
  ] as const)('validity whose date at %s does not exist is refused', (pointer, input) => {
    const read = readValidity(input)
    const message = 'must be a date and time that exists, with an offset'
    expect(read).toEqual({ ok: false, issue: { pointer, code: 'format', message } })
  })
})

describe('window of a voucher', () => {
  const fixed: Validity = { type: 'fixed', startsAt: '2027-01-01T00:00:00.000Z', endsAt: '2027-02-01T00:00:00.000Z' }
  const window = { validFrom: at('2027-01-01T00:00:00Z'), validUntil: at('2027-02-01T00:00:00Z') }

  it('fixed validity gives its window to vouchers issued before or during the window', () => {
    expect(windowOf(fixed, window.validFrom - 90 * DAY)).toEqual(window)
    expect(windowOf(fixed, window.validUntil - 1)).toEqual(window)
  })

  it('fixed validity that has ended gives no window to a voucher', { tags: 'validity/3' }, () => {
    expect(windowOf(fixed, window.validUntil)).toBeNull()
    expect(windowOf(fixed, window.validUntil + 1)).toBeNull()
  })

  it('relative validity counts days of 86,400 s from the issue of the voucher', { tags: 'validity/2' }, () => {
    const relative = fc.record({ durationDays: fc.integer({ min: 1, max: 1095 }), delayDays: fc.nat(30) })
    fc.assert(
      fc.property(relative, fc.integer({ min: 0, max: 4e12 }), (days, issuedAt) => {
        const validFrom = issuedAt + days.delayDays * DAY
        expect(windowOf({ type: 'relative', ...days, notAfter: null }, issuedAt)).toEqual({
          validFrom,
          validUntil: validFrom + days.durationDays * DAY,
        })
      }),
    )
  })

  const cut = (notAfterMs: number): Validity => ({
    type: 'relative',
    durationDays: 10,
    delayDays: 2,
    notAfter: formatInstant(notAfterMs),
  })

  it('relative validity window ends at not_after if that is earlier', { tags: 'validity/2' }, () => {
    const issuedAt = at('2027-01-01T12:00:00Z')
    const validFrom = issuedAt + 2 * DAY
    expect(windowOf(cut(issuedAt + 12 * DAY + 1), issuedAt)).toEqual({ validFrom, validUntil: issuedAt + 12 * DAY })
    expect(windowOf(cut(issuedAt + 12 * DAY - 1), issuedAt)).toEqual({ validFrom, validUntil: issuedAt + 12 * DAY - 1 })
    expect(windowOf(cut(validFrom + 1), issuedAt)).toEqual({ validFrom, validUntil: validFrom + 1 })
  })

  it('relative validity gives a voucher no window if not_after precedes the start of the window', () => {
    const issuedAt = at('2027-01-01T12:00:00Z')
    expect(windowOf(cut(issuedAt + 2 * DAY), issuedAt)).toBeNull()
    expect(windowOf(cut(issuedAt - 1), issuedAt)).toBeNull()
  })

  it('validity window of a voucher is computed from the stored JSON of the validity', () => {
    const read = readValidity({ type: 'relative', duration_days: 1, not_after: '2027-01-02T00:00:00+01:00' })
    expect(read.ok && windowOf(JSON.parse(JSON.stringify(read.validity)), at('2027-01-01T00:00:00Z'))).toEqual({
      validFrom: at('2027-01-01T00:00:00Z'),
      validUntil: at('2027-01-01T23:00:00Z'),
    })
  })
})
