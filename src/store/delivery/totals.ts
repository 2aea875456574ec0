import { aggregate, type Op } from '../operation.js'
import { BOTS_READY } from './worker-pass.js'

/** Deliveries to all webhooks that wait for an attempt, that failed and will be tried again, or that are dead letters. */
export interface DeliveryTotals extends Readonly<Record<'pending' | 'failed' | 'dead_letter', number>> {
  /** Creation of the oldest due delivery, ms since 1970. */
  readonly oldest: number | null
}

const counted = (...kinds: readonly string[]): string =>
  `coalesce(sum((select sum(n) from bot_counts where bot_id = webhooks.bot_id and kind in ('${kinds.join("', '")}'))), 0)`

/** Reads the totals for a scrape: a few counts per webhook, because a count of deliveries may read millions of rows. */
export const deliveryTotals = (): Op<DeliveryTotals> =>
  aggregate(
    `${BOTS_READY}
     select ${counted('pending', 'manual')} as pending, ${counted('failed')} as failed,
       ${counted('dead_letter')} as dead_letter,
       (select min((select created_at from deliveries where bot_id = b.bot_id and update_id =
          (select min(update_id) from deliveries where ready = 1 and bot_id = b.bot_id))) from bots_ready b) as oldest
     from webhooks`,
  )
