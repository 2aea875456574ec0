import { expect, test } from 'vitest'
import { readResponse } from '../../src/client/response.js'
import { failures } from '../../src/contract/errors.js'

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  readResponse({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) })

test('a success returns the data of its envelope', () => {
  expect(answer(201, { success: true, data: { id: 'vch_1' }, requestId: 'req_1' })).toMatchObject({
    ok: true,
    data: { id: 'vch_1' },
    status: 201,
    requestId: 'req_1',
    replayed: false,
  })
})

const notOfAService = {
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
])('a 200 with the body %j returns INVALID_RESPONSE', (body, why) => {
  expect(answer(200, body)).toMatchObject({
    ok: false,
    code: 'INVALID_RESPONSE',
    message: `Not a response of a voucher service (status 200): ${why}`,
  })
})

test('the failure for a success without an envelope quotes no values, which may be codes', () => {
  expect(JSON.stringify(answer(200, { id: 'vch_1', credentials: [{ value: 'M9S3' }] }))).not.toContain('M9S3')
})

test('an endpoint without an envelope succeeds with any JSON except `success: false`', () => {
  const bare = (body: unknown) => readResponse({ status: 200, headers: {}, body: JSON.stringify(body) }, { bare: true })
  expect(bare({ v: 1 })).toMatchObject({ ok: true, data: { v: 1 } })
  expect(bare({ success: true, data: { v: 1 } })).toMatchObject({ ok: true, data: { v: 1 } })
  expect(bare({ success: false, code: 'X' })).toMatchObject({ ok: false, code: 'X' })
})

test('a success accepts null as its data', () => {
  expect(answer(200, { success: true, data: null })).toMatchObject({ ok: true, data: null })
})

test('replayed comes from its header, and requestId from the header when the body has none', () => {
  const headers = { 'idempotent-replayed': 'true', 'x-request-id': 'req_h' }
  expect(answer(200, { success: true, data: {} }, headers)).toMatchObject({ replayed: true, requestId: 'req_h' })
})

test('a 200 with `success: false` is a failure', () => {
  expect(answer(200, { success: false, code: 'VOUCHER_EXPIRED', message: 'Over.' })).toMatchObject({
    ok: false,
    code: 'VOUCHER_EXPIRED',
    message: 'Over.',
  })
})

test('a 500 with `success: true` is a failure', () => {
  expect(answer(500, { success: true, data: {} })).toMatchObject(notOfAService)
})

test.each([401, 403, 404, 409, 426, 500])(
  'a %i without the envelope returns INVALID_RESPONSE, not an error code of the platform',
  (status) => {
    for (const body of ['<html>', '', '{"code":"VOUCHER_EXPIRED"}']) {
      expect(answer(status, body)).toMatchObject({ ...notOfAService, retryable: false })
    }
  },
)

test('a failure returns the code, message, details and request id of the response', () => {
  const body = {
    success: false,
    code: 'VOUCHER_ALREADY_REDEEMED',
    message: 'Used.',
    details: { redemption_id: 'rdm_1' },
    requestId: 'req_2',
  }
  expect(answer(409, body)).toEqual({
    ok: false,
    code: 'VOUCHER_ALREADY_REDEEMED',
    message: 'Used.',
    retryable: false,
    details: { redemption_id: 'rdm_1' },
    requestId: 'req_2',
  })
})

test.each(Object.entries(failures))(
  '%s is retryable as the error table says, not as the response says',
  (code, rule) => {
    expect(answer(rule.status, { success: false, code, message: 'x', retryable: !rule.retryable })).toMatchObject({
      code,
      retryable: rule.retryable,
    })
  },
)

test('a failure with an unknown code takes code and retryable from the response', () => {
  expect(answer(409, { success: false, code: 'MOON_PHASE', retryable: true })).toMatchObject({
    code: 'MOON_PHASE',
    retryable: true,
    details: {},
  })
  expect(answer(409, { success: false, code: 'MOON_PHASE' })).toMatchObject({ retryable: false })
})

test('error members of a wrong type count as missing', () => {
  expect(answer(400, { success: false, code: 7, message: {}, details: [1], requestId: 1 })).toMatchObject({
    code: 'HTTP_400',
    details: {},
    requestId: null,
  })
})

test('the failure for a proxy page quotes one short line without control characters', () => {
  const page = `<html>\u001b[31m\r\nBad gateway\u0007\u009b\u202e ${'x'.repeat(5000)}`
  const failure = answer(502, page)
  expect(failure).toMatchObject({ ok: false, code: 'INVALID_RESPONSE', retryable: false })
  if (failure.ok) return expect.unreachable()
  expect(failure.message).toMatch(/^Not a response of a voucher service \(status 502\): <html> \[31m Bad gateway x+…$/)
  expect(failure.message.length).toBeLessThan(270)
})

test('a 429 or 503 without an envelope is retryable', () => {
  expect(answer(503, 'busy')).toMatchObject({ code: 'INVALID_RESPONSE', retryable: true })
  expect(answer(429, '')).toMatchObject({ code: 'INVALID_RESPONSE', retryable: true })
})

test('a 2xx nested deeper than 500 levels returns INVALID_RESPONSE', () => {
  const nested = (levels: number) => `{"success":true,"data":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  expect(readResponse({ status: 200, headers: {}, body: nested(500) }).ok).toBe(true)
  expect(readResponse({ status: 200, headers: {}, body: nested(501) })).toMatchObject({
    ok: false,
    code: 'INVALID_RESPONSE',
  })
})

test('the failure for a redirect names its target', () => {
  expect(answer(301, '', { location: 'https://new.example/' })).toMatchObject({
    code: 'INVALID_RESPONSE',
    message:
      'Not a response of a voucher service (status 301): a redirect to https://new.example/; redirects are not followed',
  })
})
