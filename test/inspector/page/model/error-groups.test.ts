import { expect, test } from 'vitest'
import type { FailureCount, Overview } from '../../../../src/contract/platform/overview.js'
import { errorGroups } from '../../../../src/inspector/page/model/error-groups.js'
import { deliveryEntry, requestEntry } from './activity-samples.js'

const at = (minute: number) => `2026-11-21T10:0${minute}:00.000Z`
const error = { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' }

const overviewOf = (calls: FailureCount[], attempts: FailureCount[] = []): Overview => ({
  failed_calls: { since: at(2), items: calls },
  failed_attempts: { since: at(1), items: attempts, complete: true },
  failing_deliveries: 0,
  dead_letters: 0,
  faults: 0,
  clock_ahead_ms: 0,
  reviews: 0,
  borrowed_webhooks: [],
})

test('errors have the counts of the server, and the newest entries first', () => {
  const expired = { status: 409, code: 'VOUCHER_EXPIRED' }
  const entries = [
    requestEntry({ request_id: 'req_2', time: at(2), status: 404 }),
    requestEntry({ request_id: 'req_3', time: at(3), ...expired }),
    requestEntry({ request_id: 'req_4', time: at(4), ...expired }),
    requestEntry({ request_id: 'req_5', time: at(4) }),
    deliveryEntry({ at: at(3), status: 503, error }),
    deliveryEntry({ at: at(4), status: 401, error }),
    deliveryEntry({ at: at(4), status: 503, error, attempt: null, replay: true }),
  ]
  const calls = [
    { code: null, status: 404, count: 1 },
    { ...expired, count: 100 },
  ]
  const groups = errorGroups(overviewOf(calls, [{ code: 'http_status', status: 503, count: 7 }]), entries)
  expect(groups.map(({ name, status, count, entries: own }) => [name, status, count, own.map(({ id }) => id)])).toEqual(
    [
      ['VOUCHER_EXPIRED', 409, 100, ['req_4', 'req_3']],
      ['http_status 503', 503, 7, ['dlv_1']],
      ['404', 404, 1, ['req_2']],
    ],
  )
})

test('errors leave out entries before the count of the server began', () => {
  const entries = [requestEntry({ time: at(1), status: 404 }), requestEntry({ time: at(2), status: 404 })]
  const groups = errorGroups(overviewOf([{ code: null, status: 404, count: 1 }]), entries)
  expect(groups.map(({ entries: own }) => own.map((it) => it.at))).toEqual([[at(2)]])
})
