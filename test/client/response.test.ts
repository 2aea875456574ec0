import { expect, test } from 'vitest'
import { readFailure } from '../../src/client/failure.js'
import { type Expected, readSuccess } from '../../src/client/response.js'
import type { TransportResponse } from '../../src/client/transport.js'
import { failures } from '../../src/contract/errors.js'

const readResponse = (response: TransportResponse, expected?: Expected) =>
  readSuccess(response, expected) ?? readFailure(response, expected)

const readStatus = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  readResponse({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

test('the client returns the data in the envelope of a success response', () => {
  expect(readStatus(201, { success: true, data: { id: 'vch_1' }, requestId: 'req_1' })).toMatchObject({
    ok: true,
    data: { id: 'vch_1' },
    status: 201,
    requestId: 'req_1',
    replayed: false,
  })
})

const invalidResponse = {
  ok: false,
  code: 'INVALID_RESPONSE',
  message: expect.stringMatching(/^Not a response of a voucher/),
}

test.each([
  ['{}', 'JSON without the envelope (members: none)'],
  ['{"ok":"captive portal"}', 'JSON without the envelope (members: ok)'],
  ['{"success":"yes","data":1}', 'JSON without the envelope (members: success, data)'],
  ['{"success":true,"items":[]}', 'data is missing'],
  ['[1]', 'JSON, but no object'],
  ['null', 'JSON, but no object'],
  ['<html>Please log in to this network', '<html>Please log in to this network'],
  ['', 'it is empty'],
])('the client returns INVALID_RESPONSE for a 200 with the body %j', { tags: 'success/1' }, (body, why) => {
  expect(readStatus(200, body)).toMatchObject({
    ok: false,
    code: 'INVALID_RESPONSE',
    message: `Not a response of a voucher service (status 200): ${why}`,
  })
})

test('the client quotes no values of a 200 without the envelope (they may be redeem codes)', () => {
  expect(JSON.stringify(readStatus(200, { id: 'vch_1', credentials: [{ value: 'M9S3' }] }))).not.toContain('M9S3')
})

test('an endpoint without envelope may return any JSON but `success: false`', { tags: 'success/1' }, () => {
  const bare = (body: unknown) => readResponse({ status: 200, headers: {}, body: JSON.stringify(body) }, { bare: true })
  expect(bare({ v: 1 })).toMatchObject({ ok: true, data: { v: 1 } })
  expect(bare({ success: true, data: { v: 1 } })).toMatchObject({ ok: true, data: { v: 1 } })
  expect(bare({ success: false, code: 'X' })).toMatchObject({ ok: false, code: 'X' })
})

test('the client accepts a success response with null as its data', () => {
  expect(readStatus(200, { success: true, data: null })).toMatchObject({ ok: true, data: null })
})

test('the client reads `replayed` from a header, and requestId if the body has none', () => {
  const headers = { 'idempotent-replayed': 'true', 'x-request-id': 'req_h' }
  expect(readStatus(200, { success: true, data: {} }, headers)).toMatchObject({ replayed: true, requestId: 'req_h' })
})

test('the client returns a failure for a 200 with `success: false`', { tags: 'success/2' }, () => {
  expect(readStatus(200, { success: false, code: 'VOUCHER_EXPIRED', message: 'Over.' })).toMatchObject({
    ok: false,
    code: 'VOUCHER_EXPIRED',
    message: 'Over.',
  })
})

test('the client returns a failure for a 500 with `success: true`', { tags: 'success/1' }, () => {
  expect(readStatus(500, { success: true, data: {} })).toMatchObject(invalidResponse)
})

test.each([401, 403, 404, 409, 426, 500])(
  'the client returns INVALID_RESPONSE for a %i response without the envelope',
  { tags: 'success/2' },
  (status) => {
    for (const body of ['<html>', '', '{"code":"VOUCHER_EXPIRED"}']) {
      expect(readStatus(status, body)).toMatchObject({ ...invalidResponse, retryable: false })
    }
  },
)

test('the client returns code, message, details and request id of an error response', () => {
  const body = {
    success: false,
    code: 'VOUCHER_ALREADY_REDEEMED',
    message: 'Used.',
    details: { redemption_id: 'rdm_1' },
    requestId: 'req_2',
  }
  expect(readStatus(409, body)).toEqual({
    ok: false,
    code: 'VOUCHER_ALREADY_REDEEMED',
    message: 'Used.',
    retryable: false,
    details: { redemption_id: 'rdm_1' },
    requestId: 'req_2',
  })
})

test.each(Object.entries(failures))(
  'the client takes `retryable` of %s from the error table, not from the response',
  (code, rule) => {
    expect(readStatus(rule.status, { success: false, code, message: 'x', retryable: !rule.retryable })).toMatchObject({
      code,
      retryable: rule.retryable,
    })
  },
)

test('the client takes `retryable` of an unknown error code from the response', () => {
  expect(readStatus(409, { success: false, code: 'MOON_PHASE', retryable: true })).toMatchObject({
    code: 'MOON_PHASE',
    retryable: true,
    details: {},
  })
  expect(readStatus(409, { success: false, code: 'MOON_PHASE' })).toMatchObject({ retryable: false })
})

test('the client ignores members of an error response that have a wrong type', () => {
  expect(readStatus(400, { success: false, code: 7, message: {}, details: [1], requestId: 1 })).toMatchObject({
    code: 'HTTP_400',
    details: {},
    requestId: null,
  })
})

test('the client quotes one short line of a proxy page, without control characters', () => {
  const page = `<html>\u001b[31m\r\nBad gateway\u0007\u009b\u202e ${'x'.repeat(5000)}`
  const failure = readStatus(502, page)
  expect(failure).toMatchObject({ ok: false, code: 'INVALID_RESPONSE', retryable: false })
  if (failure.ok) return expect.unreachable()
  expect(failure.message).toMatch(/^Not a response of a voucher service \(status 502\): <html> \[31m Bad gateway x+…$/)
  expect(failure.message.length).toBeLessThan(270)
})

test('the client marks a 429 or 503 without the envelope as retryable', () => {
  expect(readStatus(503, 'busy')).toMatchObject({ code: 'INVALID_RESPONSE', retryable: true })
  expect(readStatus(429, '')).toMatchObject({ code: 'INVALID_RESPONSE', retryable: true })
})

test('the client returns INVALID_RESPONSE for a 2xx nested deeper than 500 levels', { tags: 'results/3' }, () => {
  const nested = (levels: number) => `{"success":true,"data":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  expect(readResponse({ status: 200, headers: {}, body: nested(500) }).ok).toBe(true)
  expect(readResponse({ status: 200, headers: {}, body: nested(501) })).toMatchObject({
    ok: false,
    code: 'INVALID_RESPONSE',
  })
})

test('the client names the target of a redirect in its failure', () => {
  expect(readStatus(301, '', { location: 'https://new.example/' })).toMatchObject({
    code: 'INVALID_RESPONSE',
    message:
      'Not a response of a voucher service (status 301): a redirect to https://new.example/; redirects are not followed',
  })
})
