// A till with fetch: checks the customer's voucher, then redeems it for one order.
import { setTimeout as pause } from 'node:timers/promises'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'
const credential = { type: 'redeem_code', value: code }

async function send(path, body, key) {
  try {
    const response = await fetch(`${baseUrl}/api/v1/open-platform/vouchers/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key && { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(2_000),
    })
    const { success, code, data } = await response.json()
    const waitMs = Number(response.headers.get('retry-after') ?? 0) * 1_000
    return { ok: response.ok && success === true, status: response.status, code, data, waitMs }
  } catch {
    // No response, or half of one: the call may have taken effect.
    return { ok: false, status: 0, code: 'NO_RESPONSE', waitMs: 0 }
  }
}

async function call(path, body, key) {
  for (let attempt = 1; ; attempt += 1) {
    const result = await send(path, body, key)
    const { status, waitMs } = result
    const isTransient = status === 0 || status === 429 || status >= 500 || result.code === 'IDEMPOTENCY_KEY_IN_PROGRESS'
    if (!isTransient || attempt === 4 || waitMs > 10_000) return result
    await pause(Math.max(waitMs, 200 * attempt) + 50)
  }
}

function stop(reason) {
  process.stderr.write(`${order}: not paid, ${reason}\n`)
  process.exit(1)
}

const check = await call('verify', { credential })
if (!check.ok) stop(check.code)
// This order may have redeemed the voucher at an earlier run: only the redeem with its key can tell.
if (!check.data.redeemable && check.data.reason !== 'already_redeemed') stop(check.data.reason)
const sale = await call('redeem', { credential, reference: order }, `redeem-${order}`)
if (!sale.ok) stop(sale.code)
process.stdout.write(`${order}: paid\n`)
