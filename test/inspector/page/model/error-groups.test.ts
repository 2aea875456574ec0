import { expect, test } from 'vitest'
import { errorGroups } from '../../../../src/inspector/page/model/error-groups.js'
import { deliveryEntry, requestEntry } from './activity-samples.js'

const at = (minute: number) => `2026-11-21T10:0${minute}:00.000Z`
const error = { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' }

test('errors are grouped by code, the most frequent first, and their entries newest first', () => {
  const expired = { status: 409, code: 'VOUCHER_EXPIRED' }
  const entries = [
    requestEntry({ time: at(1) }),
    requestEntry({ request_id: 'req_2', time: at(2), status: 404 }),
    requestEntry({ request_id: 'req_3', time: at(3), ...expired }),
    deliveryEntry({ at: at(3), status: 401, error }),
    deliveryEntry({ at: at(3), attempt: 2, status: 503, error }),
    deliveryEntry({ at: at(4), verdict: 'duplicate' }),
    requestEntry({ request_id: 'req_4', time: at(4), ...expired }),
  ]
  const groups = errorGroups(entries, 0)
  expect(groups.map(({ code, status, count }) => [code, status, count])).toEqual([
    ['VOUCHER_EXPIRED', 409, 2],
    ['http_status 503', 503, 1],
    ['http_status 401', 401, 1],
    ['404', 404, 1],
  ])
  expect(groups[0]?.entries.map(({ id }) => id)).toEqual(['req_4', 'req_3'])
})

test('errors before the period are left out', () => {
  const entries = [requestEntry({ time: at(1), status: 404 }), requestEntry({ time: at(2), status: 404 })]
  expect(errorGroups(entries, Date.parse(at(2)))).toMatchObject([{ code: '404', count: 1 }])
})
