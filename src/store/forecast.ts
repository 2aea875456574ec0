import type { Forecast } from '../contract/platform/controls.js'
import { inSlices, type SlicedRows } from './list-page.js'
import { aggregate, type Op } from './operation.js'

/**
 * Maximum rows that a forecast reads of a table. Vouchers and tokens have no index by expiry, which each redeem would
 * have to write, so the newest rows are read; deliveries have one.
 */
const FORECAST_ROWS_MAX = 50_000

/** Counts in slices what happens when the clock moves from `now` to `until`. */
export function* forecast(
  now: number,
  until: number,
  maximum = FORECAST_ROWS_MAX,
): Op<Omit<Forecast, 'now' | 'until'>> {
  let complete = true
  /** @param select SQL of sums of the newest rows, with the parameters now and until */
  function* sum(
    rows: SlicedRows,
    select: (newest: string, within: (column: string) => string) => string,
  ): Op<Readonly<Record<string, number>>> {
    const sums: Record<string, number> = { total: 0 }
    const left = () => maximum + 1 - (sums.total as number)
    yield* inSlices(rows, function* (slice, params) {
      const [limit, begin, end] = [1, 2, 3].map((it) => `$${params.length + it}`)
      const newest = `(select * from ${slice} order by ${rows.at} desc, id desc limit ${limit})`
      const sql = select(newest, (column) => `${column} > ${begin} and ${column} <= ${end}`)
      const found = yield* aggregate<Record<string, number>>(sql, [...params, left(), now, until])
      for (const [name, n] of Object.entries(found)) sums[name] = (sums[name] ?? 0) + Number(n)
      return left() <= 0
    })
    complete &&= left() > 0
    return sums
  }
  const due = "deliveries where status = 'failed' and ready = 0 and next_attempt_at > $1 and next_attempt_at <= $2"
  const deliveries = yield* sum(
    { from: due, params: [now, until], at: 'next_attempt_at' },
    // Neither the deliveries of a bot that is not active nor those with a change to come (delivery/backlog.ts) are sent.
    (newest, within) =>
      `select count(q.bot_id) as due, count(*) as total from ${newest} d
       left join update_queues q on q.bot_id = d.bot_id and d.update_id > coalesce(q.confirmed_to, 0)
         and d.update_id <= coalesce(q.switched_to, q.last_update_id) and ${within('d.next_attempt_at')}
         and exists (select 1 from bots b join webhooks w on w.bot_id = b.id where b.id = d.bot_id and b.status = 'active')`,
  )
  const vouchers = yield* sum(
    { from: 'vouchers where true', params: [], at: 'issued_at' },
    (newest, within) =>
      `select count(case when state = 'issued' and ${within('valid_until')} then 1 end) as expiring,
         count(case when state = 'issued' and ${within('valid_from')} then 1 end) as becoming_valid,
         count(*) as total from ${newest} v`,
  )
  const tokens = yield* sum(
    { from: 'tokens where true', params: [], at: 'created_at' },
    (newest, within) =>
      `select count(case when revoked_at is null and ${within('expires_at')} then 1 end) as expiring,
         count(*) as total from ${newest} t`,
  )
  return {
    deliveries_due: deliveries.due as number,
    vouchers_expiring: vouchers.expiring as number,
    vouchers_becoming_valid: vouchers.becoming_valid as number,
    tokens_expiring: tokens.expiring as number,
    complete,
  }
}
