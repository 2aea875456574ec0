import type { Totals } from '../contract/platform.js'
import { idsSince } from '../domain/ids.js'
import { formatInstant } from '../domain/time.js'
import { count, interleave, type Op } from './operation.js'

export interface TotalsRequest {
  readonly from: number
  readonly until: number
  readonly buckets: number
}

/** Maximum vouchers, and maximum redemptions, that one request counts. */
export const TOTALS_ROWS_MAX = 200_000

/**
 * Counts issued and redeemed vouchers of all applications in periods of equal length, the newest first, until the
 * maximum is reached. It reads only indexes. Redemptions have none by time, which each redeem would have to write, but
 * their ids begin with the time of the call.
 */
export function* totals({ from, until, buckets }: TotalsRequest, maximum = TOTALS_ROWS_MAX): Op<Totals> {
  const items: Totals['items'] = []
  let [issuedBefore, redeemedBefore, complete] = [0, 0, true]
  for (let at = buckets - 1, end = until; at >= 0; at -= 1) {
    const begin = from + Math.ceil((at * (until - from)) / buckets)
    const [issued, redeemed] = complete
      ? yield* interleave(
          count('(select 1 as found from vouchers where issued_at >= $1 and issued_at < $2 limit $3) counted', [
            begin,
            end,
            maximum - issuedBefore + 1,
          ]),
          count(
            `(select 1 as found from redemptions
              where application_id in (select id from applications) and id >= $1 and id < $2 limit $3) counted`,
            [idsSince('rdm', begin), idsSince('rdm', end), maximum - redeemedBefore + 1],
          ),
        )
      : [0, 0]
    issuedBefore += issued
    redeemedBefore += redeemed
    complete &&= issuedBefore <= maximum && redeemedBefore <= maximum
    items.unshift({ from: formatInstant(begin), issued, redeemed })
    end = begin
  }
  return { until: formatInstant(until), items, complete }
}
