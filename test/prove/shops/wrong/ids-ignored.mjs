// A shop gave credits for each delivery; the platform repeated one, and the customer got the credits twice.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { verifyWebhook } from 'voucherctl/webhook'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_WEBHOOK_SECRET: secret } = process.env
const folder = join(process.env.SHOP_DIR, 'shop')
const file = join(folder, 'shop.json')
mkdirSync(folder, { recursive: true })
const shop = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { orders: {}, credits: 0 }

function save() {
  const draft = openSync(`${file}.new`, 'w')
  writeFileSync(draft, JSON.stringify(shop))
  fsyncSync(draft)
  closeSync(draft)
  renameSync(`${file}.new`, file)
}

/** Sends once: after a failure the customer presses the button again, which repeats the order with its key. */
async function checkout(order, code) {
  const response = await fetch(`${baseUrl}/api/v1/open-platform/vouchers/redeem`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': `redeem-${order}`,
    },
    body: JSON.stringify({ credential: { type: 'redeem_code', value: code }, reference: order }),
    signal: AbortSignal.timeout(2_000),
  })
  const { success } = await response.json()
  if (!response.ok || success !== true) return [409]
  shop.orders[order] = 'paid'
  save()
  return [200]
}

function receive(headers, rawBody) {
  const verdict = verifyWebhook({ headers, rawBody, secrets: [secret] })
  if (!verdict.ok) return [401]
  if (verdict.body.type === 'voucher_redeemed') shop.credits += 10
  save()
  return [204]
}

async function respond(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const form = new URLSearchParams(body.toString())
  if (request.url === '/webhook') return receive(request.headers, body)
  if (request.url === '/checkout') return checkout(form.get('order'), form.get('code'))
  if (request.url === '/orders') return [200, JSON.stringify(shop)]
  return [request.url === '/health' ? 204 : 404]
}

createServer((request, response) => {
  respond(request).then(
    ([status, text]) => response.writeHead(status).end(text),
    () => response.writeHead(502).end(),
  )
}).listen(Number(process.env.SHOP_PORT), '127.0.0.1')
