import { randomFillSync, randomUUID } from 'node:crypto'
import { vouchers } from '../../../src/contract/vouchers.js'
import { fingerprint } from '../../../src/domain/idempotency.js'
import { newId } from '../../../src/domain/ids.js'
import { issue } from '../../../src/store/vouchers.js'

const DAY_MS = 86_400_000
const TOKEN_ID = 'tok_01KAJ3XQ8Y7M2N4P6R8T0V2W4X'
/** Spreads the issue times over this period, which is shorter than the validity of the vouchers. */
const ISSUED_OVER_MS = 20 * DAY_MS

/**
 * Runs the issue operation of the store without a database and yields its writes and the redeem code, voucher by
 * voucher. Reads of the operation find only the template.
 * @param {{ applicationId: string, template: object, keys: object, count: number }} of
 * @returns {Generator<{ writes: { sql: string, params: unknown[] }[], code: string }>}
 */
export function* issuedVouchers({ applicationId, template, keys, count }) {
  const random = pooledRandom()
  const summaries = new Map()
  const startedAt = Date.now() - ISSUED_OVER_MS
  for (let n = 0; n < count; n++) {
    const now = startedAt + Math.floor((n / count) * ISSUED_OVER_MS)
    const input = {
      template_id: template.id,
      external_issue_id: `stored-${n}`,
      recipient_user_id: `user-${n % 100_000}`,
    }
    const operation = issue({
      applicationId,
      templateId: template.id,
      externalIssueId: input.external_issue_id,
      recipientUserId: input.recipient_user_id,
      metadata: {},
      idempotencyKey: {
        value: randomUUID(),
        fingerprint: fingerprint(vouchers.issue.method, vouchers.issue.path, input),
      },
      voucherId: newId('vch', now, random),
      newDeliveryId: () => newId('dlv', now, random),
      requestId: newId('req', now, random),
      calledBy: TOKEN_ID,
      now,
      keys,
      summaries,
    })
    const { writes, result } = imagine(operation, template)
    yield { writes, code: result.data.credentials[0].value }
  }
}

function imagine(operation, template) {
  const writes = []
  const response = ({ kind, sql, params }) => {
    if (kind === 'one') return / from templates/.test(sql) ? template : undefined
    if (kind === 'all') return []
    // Skip the quota: fill.js updates it once at the end.
    if (!sql.startsWith('update templates')) writes.push({ sql, params })
    return 1
  }
  let step = operation.next()
  while (!step.done) {
    const { value } = step
    step = operation.next(value.kind === 'several' ? value.statements.map(response) : response(value))
  }
  if (!step.value.ok || step.value.replayed) throw new Error(`the issue was not done: ${JSON.stringify(step.value)}`)
  return { writes, result: step.value }
}

/** Random bytes from a pool that one system call fills for several hundred ids. */
function pooledRandom() {
  const pool = Buffer.alloc(8192)
  let used = pool.length
  return (size) => {
    if (used + size > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += size
    return Uint8Array.prototype.slice.call(pool, used - size, used)
  }
}
