import { aggregate, type Op } from '../operation.js'
import { BOTS_READY } from './worker-pass.js'

/** Deliveries of all bots that are due, or failed and not yet due, or dead letters. */
export interface DeliveryTotals extends Readonly<Record<'due' | 'retry' | 'dead_letter', number>> {
  /** Creation of the oldest due delivery, ms since 1970. */
  readonly oldest: number | null
}

/**
 * Reads the totals for a scrape, which must not take longer with more delivered updates: `ready = 1` and `ready = 0`
 * are conditions of indexes that hold only waiting deliveries, and triggers keep the number of dead letters.
 */
export const deliveryTotals = (): Op<DeliveryTotals> =>
  aggregate(
    `${BOTS_READY}
     select (select count(*) from deliveries where ready = 1) as due,
       (select count(*) from deliveries where status = 'failed' and ready = 0) as retry,
       (select coalesce(sum((select sum(n) from bot_counts where bot_id = bots.id and kind = 'dead_letter')), 0)
        from bots) as dead_letter,
       min((select created_at from deliveries where bot_id = b.bot_id and update_id =
         (select min(update_id) from deliveries where ready = 1 and bot_id = b.bot_id))) as oldest
     from bots_ready b`,
  )
