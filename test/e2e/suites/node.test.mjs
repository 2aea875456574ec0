// @ts-check
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createClient, unwrap } from 'voucherctl/client'
import { startServer } from 'voucherctl/testing'

/** @param {string} id */
const order = (id) => ({ template_id: 'tpl_coffee', external_issue_id: id, recipient_user_id: 'user-1' })

test('a first start under a mocked Date has the system time', async () => {
  const before = new Date()
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 })
  const server = await startServer({ listen: false })
  const time = server.clock.now()
  mock.timers.reset()
  assert.ok(before <= time && time <= new Date(), time.toISOString())
  await server.close()
})

test('a client retries while only setTimeout is mocked', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => mock.timers.reset())
  const server = await startServer()
  const client = createClient({ baseUrl: server.baseUrl, token: server.token })
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'error' })
  assert.equal((await unwrap(client.vouchers.issue(order('order-1')))).status, 'issued')
  await server.close()
})

test('fake timers of node:test do not hang a server without a port', async (t) => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate'] })
  t.after(() => mock.timers.reset())
  const server = await startServer({ listen: false, clock: '2027-03-01T12:00:00Z' })
  const { token, transport } = server
  const client = createClient({ baseUrl: 'http://localhost', token, transport })
  server.faults.add({ endpoint: 'vouchers.issue', kind: 'delay', delay_ms: 5 })
  const voucher = await unwrap(client.vouchers.issue(order('order-1')))
  assert.equal(voucher.status, 'issued')
  server.clock.advance('1d')
  await server.requests.wait({ endpoint: 'vouchers.issue' })
  assert.equal((await server.vouchers({ status: 'issued' })).length, 1)
  await server.close()
})

test('vouchers of a seed have their states, and repeated issues return their codes', async () => {
  const { seed, close } = await startServer({ listen: false })
  await close()
  const [application] = seed.applications ?? []
  assert.ok(application)
  /** @type {import('voucherctl/testing').Seed} */
  const filled = {
    ...seed,
    applications: [
      {
        ...application,
        vouchers: [
          { ...order('fresh'), status: 'issued' },
          { ...order('used'), status: 'redeemed' },
          { ...order('back'), status: 'reversed' },
          { ...order('old'), status: 'expired' },
        ],
      },
    ],
  }
  const server = await startServer({ seed: filled, rateLimit: { issue: { calls: 50, seconds: 60 } } })
  const { vouchers } = server.client
  const codes = []
  for (const id of ['fresh', 'used', 'back', 'old']) {
    const { credentials } = await unwrap(vouchers.issue(order(id)))
    const [credential] = credentials
    assert.ok(credential)
    const result = await vouchers.redeem({ credential })
    codes.push(result.ok ? 'ok' : result.code)
  }
  assert.deepEqual(codes, ['ok', 'VOUCHER_ALREADY_REDEEMED', 'ok', 'VOUCHER_EXPIRED'])
  await server.close()
})

test('a server on PostgreSQL whose close is forgotten does not keep the process alive', async () => {
  const { client } = await startServer({ databaseUrl: process.env['DATABASE_URL'] ?? '' })
  assert.equal((await unwrap(client.vouchers.issue(order('order-1')))).status, 'issued')
})
