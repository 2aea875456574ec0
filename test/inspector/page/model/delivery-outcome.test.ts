import { expect, test } from 'vitest'
import type { DeliveryDetail } from '../../../../src/contract/platform/deliveries.js'
import { outcomeOf } from '../../../../src/inspector/page/model/delivery-outcome.js'

const detailOf = (delivery: object, verification: object | null = null) =>
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
