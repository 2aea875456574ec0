import assert = require('node:assert/strict')
import nodeTest = require('node:test')
import client = require('voucherctl/client')
import testing = require('voucherctl/testing')
import webhook = require('voucherctl/webhook')

class Shop {
  constructor(private readonly api: client.Client) {}

  async redeem(value: string, idempotencyKey: string): Promise<string> {
    const input = { credential: { type: 'redeem_code', value } } satisfies Parameters<
      client.Client['vouchers']['redeem']
    >[0]
    const result = await this.api.vouchers.redeem(input, { idempotencyKey })
    if (result.ok) return result.data.id
    switch (result.code) {
      case 'VOUCHER_ALREADY_REDEEMED':
        return 'used'
      case 'VOUCHER_NOT_FOUND':
        return 'unknown'
      case 'NETWORK_ERROR':
        return result.outcomeUnknown ? this.redeem(value, result.idempotencyKey ?? idempotencyKey) : 'offline'
      default:
        return result.message
    }
  }
}

function voucherOf(update: webhook.WebhookUpdate): string {
  switch (update.type) {
    case 'voucher_issued':
      return 'issued'
    case 'voucher_redeemed':
      return update.voucher_redeemed.redemption.voucherId
    default:
      return String(update.update_id)
  }
}

void nodeTest.test('a shop repeats a lost redeem and names each failure', async () => {
  const server = await testing.startServer()
  const shop = new Shop(server.client)
  const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
  const issued = await client.unwrap(server.client.vouchers.issue(order))
  const code = issued.credentials.find((it) => it.type === 'redeem_code')
  assert.ok(code)
  server.faults.add({ endpoint: 'vouchers.redeem', kind: 'cut_body' })
  const id = await shop.redeem(code.value, 'sale-1')
  assert.equal(await shop.redeem(code.value, 'sale-1'), id)
  assert.equal(await shop.redeem(code.value, 'sale-2'), 'used')
  assert.equal(await shop.redeem('M9S3-46Q3-D25V-T4FJ', 'sale-3'), 'unknown')
  const update = await server.receive('voucher_redeemed')
  assert.equal(voucherOf(update), update.voucher_redeemed.redemption.voucherId)
  await server.close()
})
