import { describe, expect, it } from 'vitest'
import { type AttemptOutcome, applyAttempt, decideRetry } from '../../src/domain/delivery.js'

type DeliveryState = Parameters<typeof applyAttempt>[0]

const standing = (overrides: Partial<DeliveryState> = {}): DeliveryState => ({
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

describe('delivery after an attempt', () => {
  it.each([
    [0, 'failed', NOW + 60_000],
    [1, 'failed', NOW + 300_000],
    [2, 'failed', NOW + 900_000],
    [3, 'failed', NOW + 3_600_000],
    [4, 'dead_letter', null],
  ] as const)(
    'delivery that fails after %i earlier attempts has the status %s and the next backoff',
    (attempts, status, next) => {
      expect(applyAttempt(standing({ attempt_count: attempts }), bySchedule, failure, NOW)).toMatchObject({
        status,
        attempt_count: attempts + 1,
        next_attempt_at: next,
      })
    },
  )

  it.each(['failed', 'dead_letter', 'delivered'] as const)(
    'failed manual retry restores status and due time of a %s delivery',
    (status) => {
      const row = standing({ attempt_count: 2, resume_status: status, next_attempt_at: 77 })
      expect(applyAttempt(row, byHand, failure, NOW)).toMatchObject({
        status,
        attempt_count: 2,
        manual_attempt_count: 1,
        next_attempt_at: 77,
      })
    },
  )

  it('successful attempt makes the delivery delivered, whatever its status at that time', () => {
    for (const row of [
      standing(),
      standing({ status: 'cancelled', cancel_reason: 'webhook_deleted', lease_until: null }),
      standing({ status: 'pending', lease_until: null }),
      standing({ lease_until: 60_000 }),
      standing({ status: 'dead_letter', lease_until: null }),
    ]) {
      expect(applyAttempt(row, bySchedule, success, NOW)).toMatchObject({
        status: 'delivered',
        cancel_reason: null,
        delivered_at: NOW,
        next_attempt_at: null,
      })
    }
  })

  it('failed attempt does not change a delivery whose lease another attempt holds', () => {
    for (const row of [
      standing({ lease_until: 60_000 }),
      standing({ status: 'pending', lease_until: null }),
      standing({ status: 'delivered', lease_until: null, delivered_at: 5 }),
    ]) {
      expect(applyAttempt(row, bySchedule, failure, NOW)).toBeNull()
    }
    const delivered = standing({ status: 'delivered', lease_until: null, delivered_at: 5 })
    expect(applyAttempt(delivered, bySchedule, success, NOW)).toBeNull()
  })

  it('failed attempt of a cancelled delivery is counted, and the delivery stays cancelled', () => {
    const row = standing({ status: 'cancelled', cancel_reason: 'dropped', lease_until: null })
    expect(applyAttempt(row, bySchedule, failure, NOW)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'dropped',
      attempt_count: 1,
      next_attempt_at: null,
    })
  })

  it.each(['dead_letter', 'delivered'] as const)(
    'manual retry of a %s delivery with deleted webhook is counted; a failure keeps the status',
    (status) => {
      const row = standing({ status, attempt_count: 5, lease_until: null, delivered_at: 5 })
      const counted = { attempt_count: 5, manual_attempt_count: 1, next_attempt_at: null, delivered_at: 5 }
      expect(applyAttempt(row, byHand, failure, NOW)).toMatchObject({ ...counted, status })
      expect(applyAttempt(row, byHand, success, NOW)).toMatchObject({ ...counted, status: 'delivered' })
    },
  )
})

describe('manual retry', () => {
  const ready = { hasWebhook: true, hasBody: true, force: false }

  it.each(['pending', 'delivering', 'failed', 'dead_letter', 'delivered', 'cancelled'] as const)(
    'manual retry of a delivery with the status %s is refused unless failed or dead_letter',
    (status) => {
      const may = status === 'failed' || status === 'dead_letter'
      const refused = { ok: false, code: 'DELIVERY_NOT_RETRYABLE', details: { status } }
      expect(decideRetry({ status }, ready)).toEqual(may ? status : refused)
      expect(decideRetry({ status }, { ...ready, force: true })).toEqual(
        may || status === 'delivered' ? status : refused,
      )
      expect(decideRetry({ status }, { ...ready, force: true, hasWebhook: false })).toEqual(refused)
      expect(decideRetry({ status }, { ...ready, force: true, hasBody: false })).toEqual(refused)
    },
  )
})
