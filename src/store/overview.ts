import type { Overview } from '../contract/platform/overview.js'
import type { WebhookLease } from '../domain/bot/rows.js'
import { deliveryTotals } from './delivery/totals.js'
import { all, count, type Op } from './operation.js'

type StoredOverview = Pick<Overview, 'borrowed_webhooks' | 'dead_letters' | 'failing_deliveries' | 'reviews'> & {
  readonly failed_attempts: Omit<Overview['failed_attempts'], 'since'>
}

/** Maximum attempts that an overview reads; SQLite reads them in some milliseconds. */
const ATTEMPTS_MAX = 5_000
const BORROWED_MAX = 20

/**
 * Counts what is unusual in the store.
 * @param since start of a minute
 * @param leaseNow time of webhook leases
 */
export function* overview(since: number, leaseNow: number, maximum = ATTEMPTS_MAX): Op<StoredOverview> {
  const totals = yield* deliveryTotals()
  return {
    failed_attempts: yield* failedAttempts(since, maximum),
    failing_deliveries: Number(totals.failed),
    dead_letters: Number(totals.dead_letter),
    reviews:
      (yield* count("templates where status = 'reviewing'", [])) +
      (yield* count("bots where review_status = 'pending'", [])),
    borrowed_webhooks: yield* borrowedWebhooks(leaseNow),
  }
}

/** Counts failed attempts. No index has the failures, so reads all attempts of the minutes with failures. */
function* failedAttempts(since: number, maximum: number): Op<StoredOverview['failed_attempts']> {
  const rows = yield* all<{ code: string | null; status: number | null; n: number }>(
    `select code, status, count(*) as n from (
       select a.error_code as code, a.status_code as status
       from (select distinct bot_id, block from bot_counts
             where bot_id in (select id from bots) and kind = 'failures' and block >= $1) c
       join delivery_attempts a on a.bot_id = c.bot_id
         and a.started_at >= c.block * 60000 and a.started_at < (c.block + 1) * 60000
       limit $2) read group by code, status`,
    [since / 60_000, maximum + 1],
  )
  const read = rows.reduce((sum, { n }) => sum + Number(n), 0)
  const failed = rows.filter(({ code }) => code !== null)
  return { items: failed.map(({ code, status, n }) => ({ code, status, count: Number(n) })), complete: read <= maximum }
}

function* borrowedWebhooks(leaseNow: number): Op<Overview['borrowed_webhooks']> {
  const rows = yield* all<{ bot_id: string; lease: string }>(
    `select bot_id, lease from webhooks where lease_until > $1 order by lease_until limit ${BORROWED_MAX}`,
    [leaseNow],
  )
  return rows.map(({ bot_id, lease }) => ({ bot_id, holder: (JSON.parse(lease) as WebhookLease).holder }))
}
