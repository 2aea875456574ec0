import type { Totals } from '../contract/platform/platform.js'
import { idsSince } from '../domain/ids.js'
import { formatInstant, PROCESS_CLOCK_SKEW_MS_MAX } from '../domain/time.js'
import { type Op, oneLater, type Value } from './operation.js'

interface TotalsRequest {
  readonly from: number
  readonly until: number
  readonly buckets: number
  readonly templateId?: string | undefined
}

/** Maximum vouchers, and maximum redemptions, to count in one period; SQLite counts them in some milliseconds. */
const PERIOD_ROWS_MAX = 5_000

/** Counts issued and redeemed vouchers of all applications, or of one template, in periods of equal length. */
export function* totals({ from, until, buckets, templateId }: TotalsRequest, maximum = PERIOD_ROWS_MAX): Op<Totals> {
  const startOf = (at: number) => from + Math.ceil((at * (until - from)) / buckets)
  const items: Totals['items'] = []
  let complete = true
  function* counted(rows: string, params: readonly Value[]): Op<number> {
    const values: Value[] = [...params, maximum + 1]
    // No index has the times of one template, so the limit is for the rows of all templates.
    const matching = templateId === undefined ? '*' : `case when template_id = $${values.push(templateId)} then 1 end`
    const limited = `select count(*) as read, count(${matching}) as n from (${rows} limit $${params.length + 1}) r`
    const found = yield* oneLater<{ read: number; n: number }>(limited, values)
    complete &&= Number(found?.read) <= maximum
    return Number(found?.n)
  }
  for (let at = 0; at < buckets; at++) {
    const period = [startOf(at), startOf(at + 1)] as const
    items.push({
      from: formatInstant(period[0]),
      issued: yield* counted('select template_id from vouchers where issued_at >= $1 and issued_at < $2', period),
      // Redemptions have no index by time, because each redeem would have to write it, but their ids begin with the
      // time of the call. A call may wait for locks before it redeems, and other processes have other clocks.
      redeemed: yield* counted(
        `select r.template_id from applications a join redemptions r on r.application_id = a.id and r.id >= $3 and r.id < $4
         where r.redeemed_at >= $1 and r.redeemed_at < $2`,
        [
          ...period,
          idsSince('rdm', Math.max(0, period[0] - PROCESS_CLOCK_SKEW_MS_MAX)),
          idsSince('rdm', period[1] + PROCESS_CLOCK_SKEW_MS_MAX),
        ],
      ),
    })
  }
  return { until: formatInstant(until), items, complete }
}
