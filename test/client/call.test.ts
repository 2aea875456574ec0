import { expect, test } from 'vitest'
import { createCall } from '../../src/client/call.js'
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../src/client/transport.js'
import { apps } from '../../src/contract/apps.js'
import { platformActivity } from '../../src/contract/platform/activity.js'
import { platform } from '../../src/contract/platform/platform.js'
import { templates } from '../../src/contract/templates.js'
import { vouchers } from '../../src/contract/vouchers.js'

const token = `sop_${'a'.repeat(36)}`
const credential = { type: 'redeem_code', value: 'ABCD' } as const

function recorder(result: Partial<TransportResponse> | TransportError) {
  const requests: TransportRequest[] = []
  const transport: Transport = async (request) => {
    requests.push(request)
    if (result instanceof TransportError) throw result
    return { status: 200, headers: {}, body: '{}', ...result }
  }
  const call = createCall(transport, { token, newIdempotencyKey: () => 'fresh-key', userAgent: 'test/1' })
  return { requests, call }
}

test('the client sends the credential, media types and a user agent as headers', async () => {
  const { requests, call } = recorder({})
  await call(vouchers.verify, { credential })
  expect(requests[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/open-platform/vouchers/verify',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'user-agent': 'test/1',
    },
    timeoutMs: 15_000,
  })
})

test('the client sends no Content-Type header for a request without a body', async () => {
  const { requests, call } = recorder({})
  await call(templates.list, {})
  expect(requests[0]?.headers).not.toHaveProperty('content-type')
})

test('client sends a given or new key for issue, redeem and reverse', { tags: 'idempotency-keys/1' }, async () => {
  const { requests, call } = recorder({})
  await call(vouchers.redeem, { credential })
  await call(vouchers.reverse, { redemptionId: 'rdm_1' }, { idempotencyKey: 'mine' })
  await call(vouchers.verify, { credential })
  expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['fresh-key', 'mine', undefined])
})

test('the client marks only reads and idempotent requests as repeatable for its transport', async () => {
  const { requests, call } = recorder({})
  await call(templates.list, {})
  await call(vouchers.verify, { credential })
  await call(vouchers.redeem, { credential })
  await call(templates.submit, { templateId: 'tpl_1' })
  await call(apps.create, { name: 'Shop' })
  expect(requests.map(({ repeatable }) => repeatable)).toEqual([true, true, true, false, false])
})

test('the client calls a token function with the credential kind and sends the token it returns', async () => {
  const sent: (string | undefined)[] = []
  const call = createCall(
    async ({ headers }) => {
      sent.push(headers.authorization)
      return { status: 200, headers: {}, body: '{}' }
    },
    { token: async (kind) => (kind === 'operator' ? undefined : `${kind}-credential`) },
  )
  await call(apps.list, {})
  await call(templates.list, {})
  await call(platform.reviews, {})
  expect(sent).toEqual(['Bearer jwt-credential', 'Bearer token-credential', undefined])
})

test.each([
  ['refused', 'NETWORK_ERROR', false],
  ['untrusted', 'CERTIFICATE_UNTRUSTED', false],
  ['lost', 'NETWORK_ERROR', true],
  ['timeout', 'TIMEOUT', true],
  ['aborted', 'ABORTED', true],
] as const)('a mutation that fails with `%s` returns %s with outcomeUnknown %s', async (kind, code, outcomeUnknown) => {
  const { call } = recorder(new TransportError(kind, 'gone'))
  expect(await call(vouchers.redeem, { credential })).toEqual({
    ok: false,
    code,
    message: 'gone',
    status: 0,
    retryable: kind !== 'aborted' && kind !== 'untrusted',
    details: {},
    requestId: null,
    outcomeUnknown,
    idempotencyKey: 'fresh-key',
    headers: {},
  })
})

test('the client refuses data that its call cannot return', { tags: ['success/1', 'success/3'] }, async () => {
  const order = { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'ann' }
  for (const [endpoint, input, data] of [
    [vouchers.redeem, { credential }, { id: 'rdm_1' }],
    [vouchers.redeem, { credential }, { id: 'rdm_1', status: 'reversed' }],
    [vouchers.reverse, { redemptionId: 'rdm_1' }, { id: 'rdm_1', status: 'succeeded' }],
    [vouchers.issue, order, { id: 'vch_1', status: 'issued', externalIssueId: 'order-1', credentials: [] }],
  ] as const) {
    const { call } = recorder({ body: JSON.stringify({ success: true, data }) })
    expect(await call(endpoint as typeof vouchers.issue, input as never)).toMatchObject({ code: 'INVALID_RESPONSE' })
  }
})

test('a read request whose response is lost returns outcomeUnknown false', async () => {
  const { call } = recorder(new TransportError('lost', 'gone'))
  expect(await call(vouchers.verify, { credential })).toMatchObject({ ok: false, outcomeUnknown: false })
  expect(await call(templates.list, {})).toMatchObject({ ok: false, outcomeUnknown: false })
})

test.each([
  [302, 'x', true],
  [409, 'x', true],
  [409, '{"success":false}', false],
  [429, 'x', false],
  [503, 'x', false],
  [500, 'x', true],
  [504, 'x', true],
  [200, 'x', true],
])('a mutation with %i %j returns outcomeUnknown %s', { tags: 'success/2' }, async (status, body, outcomeUnknown) => {
  const { call } = recorder({ status, body })
  expect(await call(apps.create, { name: 'Shop' })).toMatchObject({ ok: false, status, outcomeUnknown })
})

test('a redeem with a 429 returns outcomeUnknown true if an earlier attempt may have succeeded', async () => {
  const { call } = recorder({ status: 429, body: '', maybeProcessed: true })
  expect(await call(vouchers.redeem, { credential })).toMatchObject({ status: 429, outcomeUnknown: true })
})

test('the client returns INVALID_INPUT for the path parameter ".." and sends nothing', async () => {
  const { requests, call } = recorder({})
  expect(await call(vouchers.redemption, { redemptionId: '..' })).toMatchObject({
    ok: false,
    code: 'INVALID_INPUT',
    status: 0,
    details: { parameter: 'redemptionId' },
    outcomeUnknown: false,
  })
  expect(requests).toEqual([])
})

test.each(['a\nb', 'é', 'a\u0000'])(
  'the client neither sends nor quotes the credential or key %j, which is invalid in headers',
  async (text) => {
    const transport: Transport = async () => expect.unreachable('sent')
    const failure = await createCall(transport, { token: text })(templates.list, {})
    expect(failure).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
    expect(JSON.stringify(failure)).not.toContain(JSON.stringify(text).slice(1, -1))
    expect(await createCall(transport)(vouchers.redeem, { credential }, { idempotencyKey: text })).toMatchObject({
      code: 'INVALID_INPUT',
    })
  },
)

test('the client hides its credential in a failure if the response contains the credential', async () => {
  const { call } = recorder({
    status: 400,
    headers: { 'x-echo': `Bearer ${token}` },
    body: JSON.stringify({ success: false, code: 'X', message: `no ${token}`, details: { [token]: token } }),
  })
  const failure = await call(templates.list, {})
  expect(failure).toMatchObject({ ok: false, message: 'no [credential]' })
  expect(JSON.stringify(failure)).not.toContain(token)
  const page = await recorder({ status: 502, body: `${'x'.repeat(180)}${token}` }).call(templates.list, {})
  expect(JSON.stringify(page)).not.toContain('sop_')
})

test('the client throws an exception of its transport that is not a TransportError', async () => {
  const call = createCall(async () => {
    throw new RangeError('bug')
  })
  await expect(call(templates.list, {})).rejects.toThrow(RangeError)
})

test('the client throws TypeError for a streaming endpoint without createStream', async () => {
  const { call } = recorder({})
  await expect(call(platformActivity.requests, {})).rejects.toThrow(TypeError)
})
