import { describe, expect, it } from 'vitest'
import { type AttemptOutcome, applyAttempt, decideRetry, scheduleOf } from '../../src/domain/delivery.js'

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

describe('schedule of a delivery', () => {
  const madeAt = (started_at: string, manual = false) => ({
    ...{ number: 1, manual, started_at, duration_ms: 1, status_code: 500, error: null },
  })
  const shown = (
    overrides: Partial<Parameters<typeof scheduleOf>[0]>,
    attempts = [madeAt('first'), madeAt('second')],
  ) =>
    scheduleOf({ ...standing({ lease_until: null }), last_attempt_at: 5_000, ...overrides }, attempts).map((it) => [
      it.state,
      it.at,
    ])
  const later = (ms: number) => ['later', new Date(ms).toISOString()]
  const never = ['never', null]

  it('schedule has made attempts, the due one, and the earliest times of later ones', () => {
    const attempts = [madeAt('first'), madeAt('by hand', true), madeAt('second')]
    expect(shown({ status: 'failed', attempt_count: 2, next_attempt_at: 0 }, attempts)).toEqual([
      ['made', 'first'],
      ['made', 'second'],
      ['due', '1970-01-01T00:00:00.000Z'],
      later(900_000),
      later(4_500_000),
    ])
  })

  it('schedule has the running attempt of a delivery in flight', () => {
    expect(shown({ attempt_count: 1 })[1]).toEqual(['running', '1970-01-01T00:00:05.000Z'])
    expect(shown({ attempt_count: 1 })[2]).toEqual(later(305_000))
  })

  it('schedule of a failed delivery goes on during a manual retry, that of a dead letter does not', () => {
    const retried = { attempt_count: 2, next_attempt_at: 0 }
    expect(shown({ ...retried, resume_status: 'failed' })[2]).toEqual(['due', '1970-01-01T00:00:00.000Z'])
    expect(shown({ ...retried, resume_status: 'dead_letter' })[2]).toEqual(never)
  })

  it.each(['delivered', 'dead_letter', 'cancelled'] as const)('schedule of a %s delivery has ended', (status) => {
    expect(shown({ status, attempt_count: 2 }).slice(1)).toEqual([['made', 'second'], never, never, never])
  })

  it('schedule leaves out the time of an attempt that is not in the list', () => {
    expect(shown({ status: 'failed', attempt_count: 3 }).slice(0, 3)).toEqual([
      ['made', null],
      ['made', 'first'],
      ['made', 'second'],
    ])
  })

  it('schedule begins again for a delivery whose webhook was set again', () => {
    expect(shown({ status: 'pending', attempt_count: 0, next_attempt_at: 0 })[0]?.[0]).toBe('due')
  })
})
