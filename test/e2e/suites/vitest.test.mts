import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { contract, createClient, failureCodesOf, unwrap } from 'voucherctl/client'
import { assertMatches, matches, type NewFault, startServer, type TestServer } from 'voucherctl/testing'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterEach(async () => {
  vi.useRealTimers()
  await server.reset()
})
afterAll(() => server.close())

const order = (id: string) => ({ template_id: 'tpl_coffee', external_issue_id: id, recipient_user_id: 'user-1' })
const sell = async (id: string) => {
  const { credentials } = await unwrap(server.client.vouchers.issue(order(id)))
  const code = credentials.find((it) => it.type === 'redeem_code')
  if (code === undefined) throw new Error('no code')
  return code
}

test('a voucher is issued, verified, redeemed, reversed and listed', async () => {
  const { vouchers } = server.client
  const credential = await sell('order-1')
  expect((await unwrap(vouchers.verify({ credential }))).redeemable).toBe(true)
  const redemption = await unwrap(vouchers.redeem({ credential, reference: 'till-7' }))
  expect((await server.vouchers({ status: 'redeemed' })).length).toBe(1)
  await unwrap(vouchers.reverse({ redemptionId: redemption.id, reason: 'mistake' }))
  expect((await unwrap(vouchers.redemption({ redemptionId: redemption.id }))).id).toBe(redemption.id)
  const ids: string[] = []
  for await (const { items } of server.client.templates.list.pages({ limit: 1 })) ids.push(...items.map((it) => it.id))
  expect(ids).toEqual(['tpl_coffee'])
})

test('the stack of a page that fails begins in this file', async () => {
  server.faults.add({ endpoint: 'templates.list', kind: 'error' })
  const readAll = async () => {
    for await (const { items } of server.client.templates.list.pages()) expect(items).toBeDefined()
  }
  const stack = await readAll().catch((error: unknown) => (error instanceof Error ? error.stack : ''))
  expect(stack?.split('\n').find((it) => it.startsWith('    at '))).toContain('vitest.test.mts')
})

test('every kind of fault has its failure', async () => {
  const endpoint = 'templates.list'
  const faults: NewFault[] = [
    { endpoint, kind: 'error' },
    { endpoint, kind: 'status', status: 429, retry_after: 1 },
    { endpoint, kind: 'refuse_connection' },
    { endpoint, kind: 'drop_response' },
    { endpoint, kind: 'cut_connection' },
    { endpoint, kind: 'cut_body' },
    { endpoint, kind: 'delay', delay_ms: 1 },
  ]
  const results: unknown[] = []
  for (const fault of faults) {
    server.faults.add(fault)
    const result = await server.client.templates.list()
    results.push(result.ok || result.status || result.code)
    server.faults.clear()
  }
  expect(results).toEqual([503, 429, 'NETWORK_ERROR', 'NETWORK_ERROR', 'NETWORK_ERROR', 'NETWORK_ERROR', true])
})

test('faults choose the nth call, a share and calls that match', async () => {
  const list = async () => (await server.client.templates.list()).ok
  server.faults.add({ endpoint: 'templates.list', kind: 'error', nth: 2 })
  expect([await list(), await list(), await list()]).toEqual([true, false, true])
  server.faults.add({ endpoint: 'templates.list', kind: 'error', share: 0.5, seed: 1, times: 1000 })
  const calls: boolean[] = []
  for (let n = 0; n < 40; n++) calls.push(await list())
  expect(new Set(calls)).toEqual(new Set([true, false]))
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'error', match: { body: { external_issue_id: 'order-2' } } })
  const issued = [
    await server.client.vouchers.issue(order('order-1')),
    await server.client.vouchers.issue(order('order-2')),
  ]
  expect(issued.map((it) => it.ok)).toEqual([true, false])
})

test('a client retries under fake timers, and the server lists what it sent', async () => {
  vi.useFakeTimers()
  const { baseUrl, token } = server
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'drop_response' })
  const client = createClient({ baseUrl, token, retry: { tries: 2 } })
  await unwrap(client.vouchers.issue(order('order-1'), { idempotencyKey: 'issue-1' }))
  const call = await server.requests.wait({ endpoint: 'vouchers.issue' }, { within: 60_000 })
  expect(call).toMatchObject({ idempotencyKey: 'issue-1', input: order('order-1') })
  expect(matches(call, { idempotencyKey: 'issue-1' })).toBe(true)
  assertMatches(server.requests, { endpoint: 'vouchers.issue', idempotencyKey: 'issue-1' }, 2)
  expect(await server.vouchers({ external_issue_id: 'order-1' })).toHaveLength(1)
})

test('a snapshot undoes moves of the clock and is released under fake timers', async () => {
  vi.useFakeTimers()
  const credential = await sell('order-1')
  const fresh = await server.snapshot()
  server.clock.advance('31d')
  const late = await server.client.vouchers.redeem({ credential })
  expect(late.ok || late.code).toBe('VOUCHER_EXPIRED')
  await server.restore(fresh)
  expect((await server.client.vouchers.redeem({ credential })).ok).toBe(true)
  await fresh.release()
})

test('the codes of an endpoint are listed', () => {
  expect(failureCodesOf(contract.vouchers.redeem)).toContain('VOUCHER_ALREADY_REDEEMED')
})
