import { expect, test } from 'vitest'
import type { DeliveryDetail } from '../../../../src/contract/platform/deliveries.js'
import { faultOf, outcomeOf } from '../../../../src/inspector/page/model/delivery-outcome.js'

const detailOf = (delivery: object, verification: object | null = null, request: object | null = null) =>
  ({
    delivery: {
      status: 'pending',
      last_status_code: null,
      last_error: null,
      cancel_reason: null,
      attempts: [],
      ...delivery,
    },
    verification,
    request,
  }) as unknown as DeliveryDetail

const httpError = { code: 'http_status', message: 'The endpoint responded with 500 instead of 2xx.' }

test.each<[string, object, object | null, string]>([
  ['good', { status: 'delivered', last_status_code: 200 }, null, 'The app accepted it with 200.'],
  ['bad', { status: 'failed', last_status_code: 401, last_error: httpError }, null, 'The app refused it with 401.'],
  ['bad', { status: 'failed', last_status_code: 500, last_error: httpError }, null, httpError.message],
  ['note', { status: 'cancelled', cancel_reason: 'webhook_deleted' }, null, 'It was cancelled: webhook deleted.'],
  ['note', {}, null, 'It is not sent yet.'],
  [
    'bad',
    { status: 'failed', last_status_code: 401 },
    { ok: false, reason: 'bad_signature' },
    'It was refused: bad signature.',
  ],
])('the outcome of a delivery is %s: %j', (tone, delivery, verification, sentence) => {
  expect(outcomeOf(detailOf(delivery, verification))).toEqual([tone, sentence])
})

const WRONG = 'A planted fault made its signature wrong or old.'
const late = { code: 'planted_fault', message: 'A planted fault makes this delivery late.' }
const named = { headers: [['x-platform-fault', 'stale']] }
const unknown = { headers: [['X-Platform-Fault', 'another one']] }

test.each<[string, object, object | null, object | null, string, string | undefined]>([
  [
    'good',
    { last_status_code: 401, attempts: [{}, { fault: 'forged' }] },
    null,
    null,
    `The app refused it with 401. ${WRONG}`,
    'forged',
  ],
  [
    'bad',
    { status: 'delivered', last_status_code: 200, attempts: [{ fault: 'stale' }] },
    null,
    null,
    `The app accepted it with 200. ${WRONG}`,
    'stale',
  ],
  [
    'good',
    { status: 'delivered', last_status_code: 200, attempts: [{ fault: 'forged' }, {}] },
    null,
    named,
    'The app accepted it with 200.',
    undefined,
  ],
  ['note', { status: 'failed', last_error: late }, null, null, late.message, undefined],
  ['good', { status: 'failed' }, { ok: false, reason: 'stale' }, named, `It was refused: stale. ${WRONG}`, 'stale'],
  ['bad', { status: 'failed' }, { ok: false, reason: 'stale' }, unknown, 'It was refused: stale.', undefined],
])('the outcome after a planted fault is %s: %j', (tone, delivery, verification, request, sentence, fault) => {
  const detail = detailOf(delivery, verification, request)
  expect([outcomeOf(detail), faultOf(detail)]).toEqual([[tone, sentence], fault])
})
