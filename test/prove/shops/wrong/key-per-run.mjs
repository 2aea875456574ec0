// A job that was killed after a redemption began again with a new key: "already redeemed", and the voucher was lost.
import { randomUUID } from 'node:crypto'
import { createClient, createHttpTransport } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'
const send = createHttpTransport(baseUrl)
const transport = (request) => send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? 2_000, 2_000) })
const client = createClient({ baseUrl, token, transport, timeoutMs: 15_000 })

// Retries of the library within this run have the same key.
const idempotencyKey = randomUUID()
const input = { credential: { type: 'redeem_code', value: code }, reference: order }
const result = await client.vouchers.redeem(input, { idempotencyKey })
process.stdout.write(`${order}: ${result.ok ? 'paid' : `not paid, ${result.code}`}\n`)
process.exitCode = result.ok ? 0 : 1
