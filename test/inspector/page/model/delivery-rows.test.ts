import { expect, test } from 'vitest'
import type { DeliveryDetail } from '../../../../src/contract/platform/deliveries.js'
import type { DeliveryAttempt } from '../../../../src/contract/webhook.js'
import type { AxisRow } from '../../../../src/inspector/page/model/axis.js'
import {
  causeOf,
  deliveryRows,
  type Sending,
  type Update,
  updateRows,
} from '../../../../src/inspector/page/model/delivery-rows.js'
import { requestEntry } from './activity-samples.js'

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21, 10) + seconds * 1000).toISOString()
const httpError = { code: 'http_status', message: 'The endpoint responded with 401 instead of 2xx.' }

const attempt = (number: number, seconds: number, more: Partial<DeliveryAttempt> = {}): DeliveryAttempt => ({
  ...{ number, manual: false, started_at: at(seconds), duration_ms: 20, status_code: 401, error: httpError },
  ...more,
})
const sending = (seconds: number, more: Partial<Sending>): Sending => ({
  ...{ at: at(seconds), attempt: null, manual: false, replay: false, status: 200, error: null, duration_ms: 3 },
  ...more,
})
const update = (attempts: readonly DeliveryAttempt[], more: Partial<Update> = {}) =>
  ({
    ...{ id: 'dlv_1', update_id: 7, update_type: 'voucher_redeemed', created_at: at(0), status: 'failed', attempts },
    ...{ next_attempt_at: null, ...more },
  }) as Update

const textOf = (rows: readonly AxisRow[]) =>
  rows.map((row) => row.map(({ title, note }) => (note ? `${title} (${note})` : title)).join(' > '))

test('first attempt is in the row of its update, and each later one in its own row', () => {
  const late = attempt(2, 60, { status_code: null, error: { code: 'timeout', message: 'No response in 10 s.' } })
  const rows = updateRows(update([attempt(1, 0), late], { next_attempt_at: at(360) }))
  expect(textOf(rows)).toEqual([
    'Update 7 voucher_redeemed > Refused (20 ms)',
    'Update 7, attempt 2 > No response (20 ms: No response in 10 s.)',
    'Update 7, next attempt',
  ])
  expect(rows.at(-1)).toMatchObject([{ isFuture: true, at: at(360) }])
})

test('attempt that begins a second after the update was created has its own row', () => {
  expect(textOf(updateRows(update([attempt(1, 1)])))).toEqual([
    'Update 7 voucher_redeemed',
    'Update 7, attempt 1 > Refused (20 ms)',
  ])
})

test('captured attempts replace those of the record, beside replays and second sendings', () => {
  const response = { status: 401, headers: [], body: null, body_bytes: 0 }
  const captured = [
    sending(0, { attempt: 1, status: 401, response }),
    sending(1, { fault: 'duplicate' }),
    sending(90, { replay: true, status: 503 }),
  ]
  const rows = updateRows(update([attempt(1, 0), attempt(2, 60, { manual: true, status_code: 204 })]), captured)
  expect(textOf(rows)).toEqual([
    'Update 7 voucher_redeemed > Refused (3.0 ms)',
    'Update 7, sent again > Accepted (3.0 ms)',
    'Update 7, attempt by hand > Accepted (20 ms)',
    'Update 7, replay > Failed (3.0 ms)',
  ])
  expect(rows[0]?.[1]?.messages).toEqual([{ title: 'Response', message: response }])
  expect(rows[1]?.[0]?.fault).toBe('duplicate')
})

test('replay just after the creation is not the first attempt', () => {
  expect(textOf(updateRows(update([]), [sending(0, { replay: true })]))).toEqual([
    'Update 7 voucher_redeemed',
    'Update 7, replay > Accepted (3.0 ms)',
  ])
})

const redeem = requestEntry({ time: at(0.2), request_id: 'req_1' })

test.each([
  ['failed', requestEntry({ time: at(0.2), status: 409, code: 'VOUCHER_EXPIRED' })],
  ['is a replay', requestEntry({ time: at(0.2), replayed: true })],
  ['has another endpoint', requestEntry({ time: at(0.2), endpoint: 'vouchers.verify' })],
  ['ended a second later', requestEntry({ time: at(1) })],
])('call that %s did not cause an update', (_, call) => {
  expect(causeOf(update([]), [call])).toBeUndefined()
  expect(causeOf(update([]), [call, redeem])).toBe(redeem)
})

test('delivery begins with the call of its voucher, and ends with the attempts that may follow', () => {
  const schedule = [
    { attempt: 1, at: at(0), state: 'made' },
    { attempt: 2, at: at(60), state: 'due' },
    { attempt: 3, at: at(360), state: 'later' },
    { attempt: 4, at: null, state: 'never' },
  ]
  const delivery = update([attempt(1, 0)], { next_attempt_at: at(60) })
  const detail = { delivery, schedule, responses: [], voucher_id: 'vch_1' } as unknown as DeliveryDetail
  const log = [requestEntry({ time: at(0), voucher_id: 'vch_2' }), redeem]
  expect(textOf(deliveryRows(detail, log))).toEqual([
    'vouchers.redeem (2.0 ms) > Update 7 voucher_redeemed > Refused (20 ms)',
    'Update 7, next attempt',
    'Update 7, attempt 3 (at the earliest, if those before fail)',
  ])
  expect(deliveryRows({ ...detail, voucher_id: null }, log)[0]).toHaveLength(2)
})
