// An error handler wrote the whole failed request to the log, with its token and the customer's code.
const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const order = process.argv[2] ?? 'order-1'

const request = {
  method: 'POST',
  headers: {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'idempotency-key': `redeem-${order}`,
  },
  body: JSON.stringify({ credential: { type: 'redeem_code', value: code }, reference: order }),
}

/** Sends once: the queue repeats a job that failed, with the same order and key. */
async function redeem() {
  const signal = AbortSignal.timeout(2_000)
  const response = await fetch(`${baseUrl}/api/v1/open-platform/vouchers/redeem`, { ...request, signal })
  const { success } = await response.json()
  if (!response.ok || success !== true) throw new Error(`status ${response.status}`)
}

try {
  await redeem()
  process.stdout.write(`${order}: paid\n`)
} catch (error) {
  process.stderr.write(`${order}: ${error.message} ${JSON.stringify(request)}\n`)
  process.exitCode = 1
}
