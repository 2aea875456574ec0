import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { assertMatches, startServer } from '../../src/testing/index.js'
import type { TestServer } from '../../src/testing/types.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ listen: false, clock: '2027-03-01T12:00:00Z' })
})
afterEach(() => server.reset())
afterAll(() => server.close())

const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
const issue = (external_issue_id = 'order-1') =>
  server.client.vouchers.issue({ ...order, external_issue_id }, { idempotencyKey: `key-${external_issue_id}` })

async function codeOf(external_issue_id?: string) {
  const issued = await issue(external_issue_id)
  if (!issued.ok) throw new Error(issued.code)
  return { type: 'redeem_code', value: issued.data.credentials[0]?.value ?? '' } as const
}

test('requests have endpoint, input, result, key and time of each call, without secrets', async () => {
  const credential = await codeOf()
  await server.client.vouchers.redeem({ credential, recipient_user_id: 'user-2' }, { idempotencyKey: 'sale-1' })
  await server.client.vouchers.redemption({ redemptionId: 'rdm_unknown' })
  const [issued, redeemed, read] = server.requests
  expect(issued).toMatchObject({
    endpoint: 'vouchers.issue',
    input: order,
    idempotencyKey: 'key-order-1',
    result: { ok: true, data: { externalIssueId: 'order-1', credentials: [{ type: 'redeem_code' }, {}] } },
  })
  expect(redeemed).toMatchObject({
    endpoint: 'vouchers.redeem',
    input: { credential: { value: '[hidden]' }, recipient_user_id: 'user-2' },
    idempotencyKey: 'sale-1',
    result: { ok: false, code: 'RECIPIENT_MISMATCH' },
    status: 409,
  })
  expect(redeemed?.time.toISOString()).toMatch(/^2027-03-01T12:/)
  expect(read?.input).toEqual({ redemptionId: 'rdm_unknown' })
  const text = JSON.stringify(server.requests)
  for (const secret of [credential.value, server.token]) expect(text).not.toContain(secret)
})

test('requests show a call whose response was lost, with the status of the lost response', async () => {
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'drop_response' })
  await issue()
  expect(server.requests.at(-1)).toMatchObject({ endpoint: 'vouchers.issue', result: null, status: 201 })
})

test('requests are empty after a reset', async () => {
  await issue()
  await server.reset()
  expect(server.requests).toEqual([])
})

test('wait() resolves to earlier and later calls that match, each only once', async () => {
  await issue('order-1')
  const match = { endpoint: 'vouchers.issue', result: { ok: true } }
  expect((await server.requests.wait(match)).idempotencyKey).toBe('key-order-1')
  const next = server.requests.wait((it) => it.endpoint === 'vouchers.issue')
  await issue('order-2')
  expect((await next).idempotencyKey).toBe('key-order-2')
})

test('wait() fails after its time with the calls that arrived, and when the server closes', async () => {
  await issue()
  const late = server.requests.wait({ endpoint: 'vouchers.redeem' }, { within: 1 })
  await expect(late).rejects.toMatchObject({
    code: 'CALL_NOT_RECEIVED',
    message: expect.stringMatching(/vouchers\.issue/),
  })
  const closing = await startServer({ listen: false })
  const waiting = closing.requests.wait({ endpoint: 'vouchers.redeem' })
  await Promise.all([expect(waiting).rejects.toMatchObject({ code: 'SERVER_CLOSED' }), closing.close()])
})

test('assertMatches() returns the matching records or lists all records', async () => {
  await issue()
  expect(assertMatches(server.requests, { input: { external_issue_id: 'order-1' } }, 1)).toHaveLength(1)
  expect(() => assertMatches(server.requests, { endpoint: 'vouchers.issue' }, 2)).toThrow(/1 of 1 records match/)
  expect(() => assertMatches(server.requests, { endpoint: 'vouchers.redeem' })).toThrow(/expected 1 or more/)
})

test('vouchers() reads all stored vouchers and filters them', async () => {
  for (let n = 0; n < 101; n++) await issue(`order-${n}`)
  await server.client.vouchers.redeem({ credential: await codeOf('order-7') })
  expect(await server.vouchers()).toHaveLength(101)
  expect(await server.vouchers({ status: 'redeemed' })).toMatchObject([{ externalIssueId: 'order-7' }])
})

test('rate limits end by the test clock', { tags: ['servers-inside-a-test/2', 'test-clock/2'] }, async () => {
  const limited = await startServer({ listen: false, rateLimit: { reads: { calls: 1, seconds: 3_600 } } })
  const codes = []
  for (const by of [0, '30m', '31m']) {
    limited.clock.advance(by)
    const listed = await limited.client.templates.list()
    codes.push(listed.ok ? 'ok' : listed.code)
  }
  expect(codes).toEqual(['ok', 'RATE_LIMITED', 'ok'])
  await limited.close()
})
