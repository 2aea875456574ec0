import { describe, expect, it } from 'vitest'
import { type AttemptOutcome, afterAttempt, decideRetry } from '../../src/domain/delivery.js'

type Standing = Parameters<typeof afterAttempt>[0]

const standing = (overrides: Partial<Standing> = {}): Standing => ({
  status: 'delivering',
  cancel_reason: null,
  attempt_count: 0,
  manual_attempt_count: 0,
  next_attempt_at: null,
  resume_status: null,
  lease_until: 30_000,
  delivered_at: null,
  ...overrides,
})

const NOW = 1_000_000
const success: Pick<AttemptOutcome, 'error'> = { error: null }
const failure: Pick<AttemptOutcome, 'error'> = { error: { code: 'http_status', message: '' } }
const bySchedule = { manual: false, leaseUntil: 30_000 }
const byHand = { manual: true, leaseUntil: 30_000 }

describe('after an attempt', () => {
  it.each([
    [0, 'failed', NOW + 60_000],
    [1, 'failed', NOW + 300_000],
    [2, 'failed', NOW + 900_000],
    [3, 'failed', NOW + 3_600_000],
    [4, 'dead_letter', null],
  ] as const)('that failed after %i others: %s', (attempts, status, next) => {
    expect(afterAttempt(standing({ attempt_count: attempts }), bySchedule, failure, NOW)).toMatchObject({
      status,
      attempt_count: attempts + 1,
      next_attempt_at: next,
    })
  })

  it.each(['failed', 'dead_letter', 'delivered'] as const)(
    'by hand that failed, a %s delivery is what it was, when it was due',
    (status) => {
      const row = standing({ attempt_count: 2, resume_status: status, next_attempt_at: 77 })
      expect(afterAttempt(row, byHand, failure, NOW)).toMatchObject({
        status,
        attempt_count: 2,
        manual_attempt_count: 1,
        next_attempt_at: 77,
      })
    },
  )

  it('that arrived it is delivered, whatever has happened to it meanwhile', () => {
    for (const row of [
      standing(),
      standing({ status: 'cancelled', cancel_reason: 'webhook_deleted', lease_until: null }),
      standing({ status: 'pending', lease_until: null }),
      standing({ lease_until: 60_000 }),
      standing({ status: 'dead_letter', lease_until: null }),
    ]) {
      expect(afterAttempt(row, bySchedule, success, NOW)).toMatchObject({
        status: 'delivered',
        cancel_reason: null,
        delivered_at: NOW,
        next_attempt_at: null,
      })
    }
  })

  it('that failed for a delivery of which another attempt has the lease, nothing changes', () => {
    for (const row of [
      standing({ lease_until: 60_000 }),
      standing({ status: 'pending', lease_until: null }),
      standing({ status: 'delivered', lease_until: null, delivered_at: 5 }),
    ]) {
      expect(afterAttempt(row, bySchedule, failure, NOW)).toBeNull()
    }
    const delivered = standing({ status: 'delivered', lease_until: null, delivered_at: 5 })
    expect(afterAttempt(delivered, bySchedule, success, NOW)).toBeNull()
  })

  it('that failed for a cancelled delivery it is counted, and stays cancelled', () => {
    const row = standing({ status: 'cancelled', cancel_reason: 'dropped', lease_until: null })
    expect(afterAttempt(row, bySchedule, failure, NOW)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'dropped',
      attempt_count: 1,
      next_attempt_at: null,
    })
  })

  it.each(['dead_letter', 'delivered'] as const)(
    'by hand whose webhook went meanwhile it is counted, and a %s delivery stays so',
    (status) => {
      const row = standing({ status, attempt_count: 5, lease_until: null, delivered_at: 5 })
      const counted = { attempt_count: 5, manual_attempt_count: 1, next_attempt_at: null, delivered_at: 5 }
      expect(afterAttempt(row, byHand, failure, NOW)).toMatchObject({ ...counted, status })
      expect(afterAttempt(row, byHand, success, NOW)).toMatchObject({ ...counted, status: 'delivered' })
    },
  )
})

describe('a retry by hand', () => {
  const ready = { hasWebhook: true, hasBody: true, force: false }

  it.each(['pending', 'delivering', 'failed', 'dead_letter', 'delivered', 'cancelled'] as const)('of %s', (status) => {
    const may = status === 'failed' || status === 'dead_letter'
    const refused = { ok: false, code: 'DELIVERY_NOT_RETRYABLE', details: { status } }
    expect(decideRetry({ status }, ready)).toEqual(may ? status : refused)
    expect(decideRetry({ status }, { ...ready, force: true })).toEqual(may || status === 'delivered' ? status : refused)
    expect(decideRetry({ status }, { ...ready, force: true, hasWebhook: false })).toEqual(refused)
    expect(decideRetry({ status }, { ...ready, force: true, hasBody: false })).toEqual(refused)
  })
})
