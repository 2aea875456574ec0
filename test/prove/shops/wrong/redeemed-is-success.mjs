// A till took "already redeemed" for its own success, and accepted vouchers that another till had redeemed.
import { createClient, createHttpTransport } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'
const send = createHttpTransport(baseUrl)
const transport = (request) => send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? 2_000, 2_000) })
const client = createClient({ baseUrl, token, transport, timeoutMs: 15_000 })

const result = await client.vouchers.redeem(
  { credential: { type: 'redeem_code', value: code }, reference: order },
  { idempotencyKey: `redeem-${order}` },
)
const isPaid = result.ok || result.code === 'VOUCHER_ALREADY_REDEEMED'
process.stdout.write(`${order}: ${isPaid ? 'paid' : `not paid, ${result.code}`}\n`)
process.exitCode = isPaid ? 0 : 1
