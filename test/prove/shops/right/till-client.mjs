// A till with the client library: redeems the customer's voucher for one order.
import { createClient, createHttpTransport } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'

// Each attempt has 2 s: the library retries a silent server within the 15 s of the call.
const send = createHttpTransport(baseUrl)
const transport = (request) => send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? 2_000, 2_000) })
const client = createClient({ baseUrl, token, transport, timeoutMs: 15_000 })

const result = await client.vouchers.redeem(
  { credential: { type: 'redeem_code', value: code }, reference: order },
  // A repeat of the order has the same key, also after a restart.
  { idempotencyKey: `redeem-${order}` },
)
if (result.ok) process.stdout.write(`${order}: paid\n`)
else process.stderr.write(`${order}: not paid, ${result.code}\n`)
process.exitCode = result.ok ? 0 : 1
