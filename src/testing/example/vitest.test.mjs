// A shop's test on Vitest: npx vitest run vitest.test.mjs
import assert from 'node:assert/strict'
import { afterAll, beforeAll, test } from 'vitest'
import { startServer } from 'voucherctl/testing'

let server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

test('a sale whose response is lost redeems once, and an old voucher is refused', async () => {
  const { vouchers } = server.client
  const issue = async (external_issue_id) => {
    const order = { template_id: 'tpl_coffee', external_issue_id, recipient_user_id: 'user-1' }
    return (await vouchers.issue(order)).data.credentials.find((it) => it.type === 'redeem_code')
  }
  const [sold, old] = [await issue('order-1'), await issue('order-2')]
  server.faults.add({ endpoint: 'vouchers.redeem', kind: 'drop_response' })
  const lost = await vouchers.redeem({ credential: sold }, { idempotencyKey: 'sale-1' })
  const again = await vouchers.redeem({ credential: sold }, { idempotencyKey: 'sale-1' })
  assert.deepEqual([lost.outcomeUnknown, again.replayed], [true, true])
  const twice = await vouchers.redeem({ credential: sold }, { idempotencyKey: 'sale-2' })
  assert.equal(twice.code, 'VOUCHER_ALREADY_REDEEMED')
  const update = await server.receive('voucher_redeemed')
  assert.equal(update.voucher_redeemed.redemption.id, again.data.id)
  server.clock.advance('31d')
  assert.equal((await vouchers.redeem({ credential: old })).code, 'VOUCHER_EXPIRED')
})
