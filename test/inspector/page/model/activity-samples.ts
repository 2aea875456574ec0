import type {
  ActivityLine,
  CapturedExchange,
  DeliveryActivity,
  RequestLogEntry,
} from '../../../../src/contract/platform/activity.js'
import { type Entry, entryOf } from '../../../../src/inspector/page/model/activity-log.js'

export const base64 = (text: string): string => Buffer.from(text).toString('base64')

export function exchangeOf(body: string, more: Partial<CapturedExchange['request']> = {}): CapturedExchange {
  const request = { method: 'POST', url: '/', headers: [], body: base64(body), body_bytes: body.length, ...more }
  return { request, response: { status: 200, headers: [], body: null, body_bytes: 0 } }
}

export function requestLine(more: Partial<RequestLogEntry> = {}, exchange: CapturedExchange | null = null) {
  const request: RequestLogEntry = {
    time: '2026-11-21T10:00:00.000Z',
    request_id: 'req_1',
    endpoint: 'vouchers.redeem',
    method: 'POST',
    path: '/api/v1/open-platform/vouchers/redeem',
    status: 200,
    code: null,
    application_id: 'app_shop',
    voucher_id: 'vch_1',
    replayed: false,
    duration_ms: 2,
    ...more,
  }
  return { seq: 1, kind: 'request', request, exchange } satisfies ActivityLine
}

export function deliveryLine(more: Partial<DeliveryActivity> = {}) {
  const delivery: DeliveryActivity = {
    delivery_id: 'dlv_1',
    update_id: 7,
    update_type: 'voucher_redeemed',
    bot_id: 'bot_shop',
    voucher_id: 'vch_1',
    at: '2026-11-21T10:00:01.000Z',
    attempt: 1,
    manual: false,
    replay: false,
    status: 204,
    error: null,
    duration_ms: 9,
    verdict: null,
    reason: null,
    explanation: null,
    ...more,
  }
  return { seq: 2, kind: 'delivery', delivery, exchange: null } satisfies ActivityLine
}

export const requestEntry = (more: Partial<RequestLogEntry> = {}): Entry => entryOf(requestLine(more))
export const deliveryEntry = (more: Partial<DeliveryActivity> = {}): Entry => entryOf(deliveryLine(more))
