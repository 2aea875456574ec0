// A shop put the time of sending into the body of each retry, so its own idempotency key was refused as reused.
import { setTimeout as pause } from 'node:timers/promises'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'

async function send() {
  const metadata = { sent_at: new Date().toISOString() }
  try {
    const response = await fetch(`${baseUrl}/api/v1/open-platform/vouchers/redeem`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': `redeem-${order}`,
      },
      body: JSON.stringify({ credential: { type: 'redeem_code', value: code }, reference: order, metadata }),
      signal: AbortSignal.timeout(2_000),
    })
    await response.json()
    return { status: response.status, waitMs: Number(response.headers.get('retry-after') ?? 0) * 1_000 }
  } catch {
    return { status: 0, waitMs: 0 }
  }
}

let result = await send()
for (let attempt = 1; attempt < 4 && (result.status === 0 || [429, 503].includes(result.status)); attempt += 1) {
  await pause(result.waitMs + 200)
  result = await send()
}
process.stdout.write(`${order}: ${result.status === 200 ? 'paid' : `not paid, status ${result.status}`}\n`)
process.exitCode = result.status === 200 ? 0 : 1
