// @ts-check
const { afterAll, beforeAll, expect, jest: runner, test } = require('@jest/globals')
const { CallError, createClient, unwrap } = require('voucherctl/client')
const { assertMatches, startServer } = require('voucherctl/testing')
const { signWebhook, verifyWebhook } = require('voucherctl/webhook')

/** @type {import('voucherctl/testing').TestServer} */
let server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

/** @param {string} id */
const order = (id) => ({ template_id: 'tpl_coffee', external_issue_id: id, recipient_user_id: 'user-1' })

test('an encrypted sale under fake timers sends a webhook', async () => {
  runner.useFakeTimers()
  const { baseUrl, token } = server
  const client = createClient({ baseUrl, token, secure: { mode: 'required' } })
  const { credentials } = await unwrap(client.vouchers.issue(order('order-1')))
  const credential = credentials.find((it) => it.type === 'redeem_code')
  if (credential === undefined) throw new Error('no code')
  const redemption = await unwrap(client.vouchers.redeem({ credential }))
  const update = await server.receive('voucher_redeemed', { within: 60_000 })
  expect(update.voucher_redeemed.redemption.id).toBe(redemption.id)
  const call = await server.requests.wait((it) => it.endpoint === 'vouchers.redeem')
  expect(JSON.stringify(call)).not.toContain(credential.value)
  assertMatches(server.requests, { endpoint: 'vouchers.redeem', result: { ok: true } }, 1)
  const at = await server.snapshot()
  await server.reset()
  await server.restore(at)
  await at.release()
  runner.useRealTimers()
})

test('a server on PostgreSQL whose close is forgotten does not keep Jest alive', async () => {
  const { client } = await startServer({ databaseUrl: process.env['DATABASE_URL'] ?? '' })
  expect((await unwrap(client.vouchers.issue(order('order-1')))).status).toBe('issued')
})

test('unwrap throws a CallError with the code', async () => {
  const unknown = server.client.vouchers.verify({ credential: { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' } })
  const thrown = await unwrap(unknown).catch((/** @type {unknown} */ error) => error)
  expect(thrown instanceof CallError && thrown.code).toBe('VOUCHER_NOT_FOUND')
})

test('a signed delivery verifies and a changed one does not', () => {
  const rawBody = JSON.stringify({ update_id: 7, type: 'ping' })
  const secrets = ['secret']
  const headers = signWebhook({ rawBody, secrets, timestamp: 1, updateId: 7 })
  const verdict = verifyWebhook({ headers, rawBody, secrets, now: 1_000 })
  expect(verdict.ok && verdict.body.update_id).toBe(7)
  expect(verifyWebhook({ headers, rawBody: `${rawBody} `, secrets, now: 1_000 }).ok).toBe(false)
})
