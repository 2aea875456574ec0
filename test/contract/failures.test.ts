import { describe, expect, test } from 'vitest'
import { failuresOf } from '../../src/contract/endpoint.js'
import { exitOfStatus, type FailureCode, failures, isFailureCode, refuse } from '../../src/contract/errors.js'
import { endpoints } from '../../src/contract/index.js'
import { openEndpoints } from '../../src/contract/secure.js'

const all = Object.entries(failures)
const codesOf = (status: number) => all.filter(([, rule]) => rule.status === status).map(([code]) => code)

describe.each(all)('%s', (code, { status, exit, message, fix }) => {
  test('failure code is upper snake case and has a 4xx or 5xx status', () => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
  })

  test('failure code has the exit code of its status, or 10 for the encrypted transport', () => {
    const isSecure = /^SECURE_|^DECRYPTION_|^REQUEST_(REPLAYED|TIMESTAMP)/.test(code)
    expect(exit).toBe(isSecure ? 10 : exitOfStatus(status))
  })

  test('failure code has a message and a fix that differ, both in full sentences', () => {
    for (const text of [message, fix]) expect(text).toMatch(/^[A-Z].*\.$/)
    expect(message).not.toBe(fix)
  })
})

test.each([
  [400, 8],
  [401, 4],
  [403, 4],
  [404, 5],
  [405, 8],
  [409, 6],
  [413, 8],
  [426, 10],
  [429, 7],
  [500, 9],
  [503, 9],
])('command that fails with HTTP status %i has the exit code %i', (status, exit) => {
  expect(exitOfStatus(status)).toBe(exit)
})

test('failure codes have the statuses that the specification defines', { tags: 'failure-codes/1' }, () => {
  expect(codesOf(401)).toEqual(expect.arrayContaining(['TOKEN_INVALID', 'TOKEN_EXPIRED', 'TOKEN_REVOKED']))
  expect(codesOf(403)).toEqual(
    expect.arrayContaining(['APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'INSUFFICIENT_SCOPE']),
  )
  expect(codesOf(404)).toEqual(
    expect.arrayContaining(['TEMPLATE_NOT_FOUND', 'VOUCHER_NOT_FOUND', 'REDEMPTION_NOT_FOUND']),
  )
  const states = [
    ...['TEMPLATE_NOT_ACTIVE', 'TEMPLATE_STATE_CONFLICT', 'TEMPLATE_VALIDITY_ENDED', 'EXTERNAL_ISSUE_ID_CONFLICT'],
    ...['VOUCHER_ALREADY_REDEEMED', 'VOUCHER_EXPIRED', 'VOUCHER_NOT_YET_VALID', 'RECIPIENT_MISMATCH'],
    ...['REDEMPTION_ALREADY_REVERSED', 'REVERSAL_WINDOW_CLOSED'],
  ]
  const others = ['TEMPLATE_QUOTA_EXHAUSTED', 'IDEMPOTENCY_KEY_REUSED']
  expect(codesOf(409)).toEqual(expect.arrayContaining([...states, ...others]))
  expect(codesOf(429)).toContain('RATE_LIMITED')
})

test('only failure codes whose cause passes with time are retryable', () => {
  const retryable = all.filter(([, rule]) => rule.retryable).map(([code]) => code)
  expect(retryable.sort()).toEqual([
    'CREDENTIAL_ATTEMPTS_EXCEEDED',
    'IDEMPOTENCY_KEY_IN_PROGRESS',
    'RATE_LIMITED',
    'SERVICE_UNAVAILABLE',
  ])
})

test('names inherited from Object.prototype are not failure codes', () => {
  for (const name of ['toString', 'constructor', '__proto__', '']) expect(isFailureCode(name)).toBe(false)
  expect(isFailureCode('RATE_LIMITED')).toBe(true)
})

test('an endpoint declares every failure code, except the codes of unknown routes', () => {
  const returned = new Set<FailureCode>([
    ...endpoints.flatMap(failuresOf),
    ...openEndpoints.flatMap((it) => it.failures),
  ])
  const unreturned = all.map(([code]) => code).filter((code) => !returned.has(code as FailureCode))
  expect(unreturned).toEqual(['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'])
})

test('idempotency failure codes are declared exactly by endpoints that require a key', () => {
  for (const endpoint of endpoints) {
    expect(failuresOf(endpoint).includes('IDEMPOTENCY_KEY_REQUIRED'), endpoint.id).toBe(endpoint.idempotent === true)
  }
  const keyed = endpoints.filter(({ idempotent }) => idempotent).map(({ id }) => id)
  expect(keyed).toEqual(['vouchers.issue', 'vouchers.redeem', 'vouchers.reverse', 'bots.issue'])
})

test('refuse() returns a refusal with details only if its caller passes details', () => {
  expect(refuse('VOUCHER_EXPIRED')).toEqual({ ok: false, code: 'VOUCHER_EXPIRED' })
  expect(refuse('VOUCHER_EXPIRED', { valid_until: 'x' })).toHaveProperty('details', { valid_until: 'x' })
})
