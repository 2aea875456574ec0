// An online shop with a file: a checkout redeems a voucher and issues one as thanks; a webhook counts both.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { verifyWebhook } from 'voucherctl/webhook'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_WEBHOOK_SECRET: secret } = process.env
const { VOUCHERCTL_TEMPLATE_ID: template_id, VOUCHERCTL_RECIPIENT: recipient_user_id } = process.env
const folder = join(process.env.SHOP_DIR, 'shop')
const file = join(folder, 'shop.json')
mkdirSync(folder, { recursive: true })

const shop = load()
function load() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return { orders: {}, redeemed: 0, issued: 0, updates: [] }
    throw error
  }
}

/** Returns once the change survives a power failure. Nothing else runs meanwhile, so one draft is enough. */
function save() {
  const draft = openSync(`${file}.new`, 'w')
  writeFileSync(draft, JSON.stringify(shop))
  fsyncSync(draft)
  closeSync(draft)
  renameSync(`${file}.new`, file)
  const directory = openSync(folder, 'r')
  fsyncSync(directory)
  closeSync(directory)
}

async function send(path, body, key) {
  try {
    const response = await fetch(`${baseUrl}/api/v1/open-platform/vouchers/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(2_000),
    })
    const { success, code } = await response.json()
    const waitMs = Number(response.headers.get('retry-after') ?? 0) * 1_000
    return { ok: response.ok && success === true, status: response.status, code, waitMs }
  } catch {
    // No response, or half of one: the call may have taken effect.
    return { ok: false, status: 0, code: 'NO_RESPONSE', waitMs: 0 }
  }
}

async function call(path, body, key) {
  for (let attempt = 1; ; attempt += 1) {
    const result = await send(path, body, key)
    const { status, code, waitMs } = result
    const isTransient = status === 0 || status === 429 || status >= 500 || code === 'IDEMPOTENCY_KEY_IN_PROGRESS'
    if (!isTransient || attempt === 4 || waitMs > 10_000) return result
    await pause(Math.max(waitMs, 200 * attempt) + 50)
  }
}

/** Keys and bodies come from the order, so that a repeat of an open order finds what was done already. */
async function pay(order, code) {
  if (shop.orders[order] === 'paid') return { ok: true }
  const credential = { type: 'redeem_code', value: code }
  const sale = await call('redeem', { credential, reference: order }, `redeem-${order}`)
  if (!sale.ok) return sale
  const thanks = { template_id, external_issue_id: `thanks-${order}`, recipient_user_id }
  const gift = await call('issue', thanks, `thanks-${order}`)
  if (!gift.ok) return gift
  shop.orders[order] = 'paid'
  save()
  return gift
}

/** Running checkouts by order: a second request for an order waits for the first. */
const running = new Map()
async function checkout(order, code) {
  const started = running.get(order) ?? pay(order, code).finally(() => running.delete(order))
  running.set(order, started)
  const result = await started
  return result.ok ? [200, `${order}: paid\n`] : [result.status === 409 ? 409 : 502, `${order}: open, ${result.code}\n`]
}

function receive(headers, rawBody) {
  const verdict = verifyWebhook({ headers, rawBody, secrets: [secret] })
  if (!verdict.ok) return [401, verdict.reason]
  if (shop.updates.includes(verdict.updateId)) return [204]
  shop.updates.push(verdict.updateId)
  if (verdict.body.type === 'voucher_redeemed') shop.redeemed += 1
  if (verdict.body.type === 'voucher_issued') shop.issued += 1
  save()
  return [204]
}

async function respond(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (request.url === '/health') return [204]
  if (request.url === '/orders') {
    return [200, JSON.stringify({ orders: shop.orders, redeemed: shop.redeemed, issued: shop.issued })]
  }
  if (request.method !== 'POST') return [404]
  if (request.url === '/webhook') return receive(request.headers, body)
  if (request.url !== '/checkout') return [404]
  const form = new URLSearchParams(body.toString())
  return checkout(form.get('order'), form.get('code'))
}

createServer((request, response) => {
  respond(request).then(
    ([status, text = '']) => response.writeHead(status).end(text),
    () => response.writeHead(500).end(),
  )
}).listen(Number(process.env.SHOP_PORT), '127.0.0.1')
