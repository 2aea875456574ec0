// A nightly job logged the rows that failed and ended with exit code 0; customers waited for vouchers in vain.
import { createClient, createHttpTransport, unwrap } from 'voucherctl/client'

const { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token, VOUCHERCTL_TEMPLATE_ID: template_id } = process.env
const send = createHttpTransport(baseUrl)
const transport = (request) => send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? 2_000, 2_000) })
const client = createClient({ baseUrl, token, transport, timeoutMs: 15_000 })

for (const row of ['gift-1', 'gift-2', 'gift-3']) {
  const input = { template_id, external_issue_id: row, recipient_user_id: `user-of-${row}` }
  try {
    await unwrap(client.vouchers.issue(input, { idempotencyKey: `issue-${row}` }))
    process.stdout.write(`${row}: sent\n`)
  } catch (error) {
    process.stderr.write(`${row}: ${error.code}\n`)
  }
}
process.stdout.write('All gifts are handled\n')
