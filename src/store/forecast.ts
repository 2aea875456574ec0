import type { Forecast } from '../contract/platform/controls.js'
import { type Op, oneLater } from './operation.js'

/**
 * Maximum rows of a table that a forecast reads. Vouchers and tokens have no index by expiry, because each redeem would
 * have to write it, so the newest rows are read; deliveries have an index.
 */
const FORECAST_ROWS_MAX = 2_000

type Counted<Name extends string> = Readonly<Record<Name | 'total', number>>

/** Counts the events that a move of the clock from `now` to `until` triggers. */
export function* forecast(
  now: number,
  until: number,
  maximum = FORECAST_ROWS_MAX,
): Op<Omit<Forecast, 'now' | 'until'>> {
  const period = [now, until, maximum + 1]
  // Each query takes some milliseconds, so other calls run in between.
  function* counted<Name extends string>(sql: string): Op<Counted<Name>> {
    return (yield* oneLater<Counted<Name>>(sql, period)) as Counted<Name>
  }
  // Deliveries of inactive bots, and deliveries with a pending change (delivery/backlog.ts), are not sent.
  const deliveries = yield* counted<'due'>(
    `select count(q.bot_id) as due, count(*) as total
       from (select bot_id, update_id from deliveries
             where status = 'failed' and ready = 0 and next_attempt_at > $1 and next_attempt_at <= $2
             order by next_attempt_at limit $3) d
       left join update_queues q on q.bot_id = d.bot_id and d.update_id > coalesce(q.confirmed_to, 0)
         and d.update_id <= coalesce(q.switched_to, q.last_update_id)
         and exists (select 1 from bots b join webhooks w on w.bot_id = b.id where b.id = d.bot_id and b.status = 'active')`,
  )
  const vouchers = yield* counted<'expiring' | 'becoming_valid'>(
    `select count(case when state = 'issued' and valid_until > $1 and valid_until <= $2 then 1 end) as expiring,
         count(case when state = 'issued' and valid_from > $1 and valid_from <= $2 then 1 end) as becoming_valid,
         count(*) as total
       from (select state, valid_from, valid_until from vouchers order by issued_at desc, id desc limit $3) v`,
  )
  const tokens = yield* counted<'expiring'>(
    `select count(case when revoked_at is null and expires_at > $1 and expires_at <= $2 then 1 end) as expiring,
         count(*) as total
       from (select revoked_at, expires_at from tokens order by id desc limit $3) t`,
  )
  return {
    deliveries_due: Number(deliveries.due),
    vouchers_expiring: Number(vouchers.expiring),
    vouchers_becoming_valid: Number(vouchers.becoming_valid),
    tokens_expiring: Number(tokens.expiring),
    complete: [deliveries, vouchers, tokens].every((it) => Number(it.total) <= maximum),
  }
}
