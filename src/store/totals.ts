import type { Totals } from '../contract/platform/platform.js'
import { idsSince } from '../domain/ids.js'
import { formatInstant, PROCESS_CLOCK_SKEW_MS_MAX } from '../domain/time.js'
import { all, interleave, type Op } from './operation.js'

interface TotalsRequest {
  readonly from: number
  readonly until: number
  readonly buckets: number
}

/** Maximum vouchers, and maximum redemptions, that one chart counts. */
const TOTALS_ROWS_MAX = 200_000

interface Bucket {
  readonly bucket: number
  readonly counted: number
}

/** Counts issued and redeemed vouchers of all applications in periods of equal length. */
export function* totals({ from, until, buckets }: TotalsRequest, maximum = TOTALS_ROWS_MAX): Op<Totals> {
  const perBucket = (rows: string) =>
    `select cast((at - $1) * $3 / ($2 - $1) as bigint) as bucket, count(*) as counted
     from (${rows} limit $4) counted_rows group by 1`
  const params = [from, until, buckets, maximum + 1]
  const [issued, redeemed] = yield* interleave(
    all<Bucket>(
      perBucket(
        'select issued_at as at from vouchers where issued_at >= $1 and issued_at < $2 order by issued_at desc',
      ),
      params,
    ),
    // Redemptions have no index by time, which each redeem would have to write, but their ids begin with the time of
    // the call. A call may wait for locks before it redeems, and other processes have other clocks.
    all<Bucket>(
      perBucket(`select r.redeemed_at as at from applications a
        join redemptions r on r.application_id = a.id and r.id >= $5 and r.id < $6
        where r.redeemed_at >= $1 and r.redeemed_at < $2`),
      [
        ...params,
        idsSince('rdm', Math.max(0, from - PROCESS_CLOCK_SKEW_MS_MAX)),
        idsSince('rdm', until + PROCESS_CLOCK_SKEW_MS_MAX),
      ],
    ),
  )
  const items = Array.from({ length: buckets }, (_, at) => ({
    from: formatInstant(from + Math.ceil((at * (until - from)) / buckets)),
    issued: countOf(issued, at),
    redeemed: countOf(redeemed, at),
  }))
  const complete = [issued, redeemed].every((rows) => rows.reduce((sum, it) => sum + Number(it.counted), 0) <= maximum)
  return { until: formatInstant(until), items, complete }
}

const countOf = (rows: readonly Bucket[], at: number): number =>
  Number(rows.find((it) => Number(it.bucket) === at)?.counted ?? 0)
