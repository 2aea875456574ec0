import { describe, expect, it } from 'vitest'
import type { DeliveryAttemptRow, DeliveryRow } from '../../src/domain/bot/rows.js'
import {
  type AttemptOutcome,
  applyAttempt,
  concernsEndpoint,
  DELIVERY_RETENTION_MS,
  DELIVERY_SLOTS,
  decideRetry,
  deliveryRecord,
  LEASE_MS,
  leaseExpired,
  RETRY_DELAY_MS_MAX,
  scheduleOf,
  slotsFor,
} from '../../src/domain/delivery.js'

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
    { tags: ['retry-schedule/1', 'deliveries/1'] },
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
    { tags: ['manual-retries/2', 'retry-schedule/1'] },
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

  it('successful attempt makes the delivery delivered, whatever its status', { tags: 'webhook-removal/3' }, () => {
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
      standing({ status: 'pending' }),
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

describe('failures of this server', () => {
  it.each(['aborted', 'internal_error', 'lease_expired'])('failure %s does not concern the endpoint', (code) =>
    expect(concernsEndpoint({ error: { code, message: '' } })).toBe(false),
  )

  it('success and a failure of the endpoint concern the endpoint', () => {
    expect(concernsEndpoint(success)).toBe(true)
    expect(concernsEndpoint(failure)).toBe(true)
  })

  it('attempt whose lease expired is a failure without a status', () =>
    expect(leaseExpired(7)).toEqual({
      statusCode: null,
      error: { code: 'lease_expired', message: 'The server ended before the attempt did; it may have arrived.' },
      durationMs: 7,
    }))
})

describe('slots of an account', () => {
  it.each([
    [DELIVERY_SLOTS, 0, 250],
    [DELIVERY_SLOTS, 1, 249],
    [750, 250, 0],
    [750, 0, 187],
    [4, 1, 0],
    [3, 0, 1],
    [1, 0, 1],
    [0, 0, 0],
    [0, 1, 0],
  ])('with %i free slots an account that holds %i may take %i', { tags: 'delivery-slots/1' }, (free, held, more) =>
    expect(slotsFor(free, held)).toBe(more),
  )
})

it('longest delay before an attempt is an hour, and deliveries are kept for 30 days', {
  tags: ['updates/2', 'delivery-attempts/3', 'voucher-history/2'],
}, () => {
  expect(LEASE_MS).toBe(30_000)
  expect(RETRY_DELAY_MS_MAX).toBe(3_600_000)
  expect(DELIVERY_RETENTION_MS).toBe(30 * 86_400_000)
})

describe('manual retry', () => {
  const ready = { hasWebhook: true, hasBody: true, force: false }

  it.each(['pending', 'delivering', 'failed', 'dead_letter', 'delivered', 'cancelled'] as const)(
    'manual retry of a delivery with the status %s is refused unless failed or dead_letter',
    { tags: 'manual-retries/2' },
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

  it('schedule continues during a manual retry of a failed delivery, but not of a dead letter', () => {
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

  it('schedule numbers the attempts from 1', () => {
    const attempts = scheduleOf({ ...standing(), last_attempt_at: null }, [])
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
  })

  it('schedule of a delivery without a next attempt is empty', () => {
    const states = shown({ status: 'pending' })
    expect(states).toEqual([['due', null], ...Array(4).fill(['later', null])])
  })

  it('schedule begins again for a delivery whose webhook was set again', () => {
    expect(shown({ status: 'pending', attempt_count: 0, next_attempt_at: 0 })[0]?.[0]).toBe('due')
  })
})

describe('delivery record', () => {
  const row: DeliveryRow = {
    ...standing({ status: 'failed', attempt_count: 1, next_attempt_at: 61_000, lease_until: null }),
    id: 'dlv_1',
    bot_id: 'bot_1',
    update_id: 7,
    update_type: 'ping',
    chat_key: 'chat_1',
    created_at: 0,
    last_attempt_at: 1_000,
    ready: 0,
    last_status_code: 500,
    last_error_code: 'http_status',
    last_error_message: 'The endpoint responded with 500.',
    last_duration_ms: 12,
  }
  const attempt: DeliveryAttemptRow = {
    delivery_id: 'dlv_1',
    number: 1,
    bot_id: 'bot_1',
    manual: 0,
    started_at: 1_000,
    duration_ms: 12,
    status_code: 500,
    error_code: 'http_status',
    error_message: null,
    fault: null,
  }
  const at = (ms: number) => new Date(ms).toISOString()

  it('response for a delivery has its state, its last error and its attempts', () => {
    const manual = { ...attempt, number: 2, manual: 1, error_code: null, status_code: 200 }
    expect(deliveryRecord(row, [attempt, manual])).toEqual({
      id: 'dlv_1',
      bot_id: 'bot_1',
      update_id: 7,
      update_type: 'ping',
      status: 'failed',
      cancel_reason: null,
      attempt_count: 1,
      manual_attempt_count: 0,
      created_at: at(0),
      last_attempt_at: at(1_000),
      next_attempt_at: at(61_000),
      delivered_at: null,
      last_status_code: 500,
      last_error: { code: 'http_status', message: 'The endpoint responded with 500.' },
      last_duration_ms: 12,
      attempts: [
        {
          number: 1,
          manual: false,
          started_at: at(1_000),
          duration_ms: 12,
          status_code: 500,
          error: { code: 'http_status', message: '' },
        },
        { number: 2, manual: true, started_at: at(1_000), duration_ms: 12, status_code: 200, error: null },
      ],
    })
  })
})
