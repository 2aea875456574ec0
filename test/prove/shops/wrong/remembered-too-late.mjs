// A shop stored the id of an issue only after its response; a restart in between issued a second voucher.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, createHttpTransport } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_TEMPLATE_ID: template_id } = process.env
const order = process.argv[2] ?? 'order-1'
const folder = join(process.env.SHOP_DIR, 'shop')
const file = join(folder, `${order}.txt`)
const send = createHttpTransport(baseUrl)
const transport = (request) => send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? 2_000, 2_000) })
const client = createClient({ baseUrl, token, transport, timeoutMs: 15_000 })

if (existsSync(file)) {
  process.stdout.write(`${order}: has its voucher\n`)
} else {
  const external_issue_id = `${order}-${randomUUID()}`
  const input = { template_id, external_issue_id, recipient_user_id: process.env.VOUCHERCTL_RECIPIENT }
  const result = await client.vouchers.issue(input, { idempotencyKey: external_issue_id })
  if (result.ok) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, external_issue_id)
  }
  process.stdout.write(`${order}: ${result.ok ? 'issued' : `not issued, ${result.code}`}\n`)
  process.exitCode = result.ok ? 0 : 1
}
