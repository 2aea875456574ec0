// A loop around the client library let it create a new key for each attempt, so the retry was refused.
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'
const client = createClient({ baseUrl, token, timeoutMs: 2_000, retry: { tries: 1 } })

async function redeem() {
  for (let attempt = 1; ; attempt += 1) {
    const result = await client.vouchers.redeem({ credential: { type: 'redeem_code', value: code }, reference: order })
    if (result.ok || attempt === 4 || !(result.retryable || result.outcomeUnknown)) return result
    await pause(Number(result.headers['retry-after'] ?? 0) * 1_000 + 200)
  }
}

const result = await redeem()
process.stdout.write(`${order}: ${result.ok ? 'paid' : `not paid, ${result.code}`}\n`)
process.exitCode = result.ok ? 0 : 1
