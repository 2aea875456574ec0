import type { Totals } from '../contract/platform/platform.js'
import { idsSince } from '../domain/ids.js'
import { formatInstant, PROCESS_CLOCK_SKEW_MS_MAX } from '../domain/time.js'
import { inSlices, SLICE_ROWS } from './list-page.js'
import { all, type Op, oneLater, type Value } from './operation.js'

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

/** Counts issued and redeemed vouchers of all applications in periods of equal length, in slices. */
export function* totals({ from, until, buckets }: TotalsRequest, maximum = TOTALS_ROWS_MAX): Op<Totals> {
  let complete = true
  const counted = { issued: 0, redeemed: 0 }
  const items = Array.from({ length: buckets }, (_, at) => ({
    from: formatInstant(from + Math.ceil((at * (until - from)) / buckets)),
    issued: 0,
    redeemed: 0,
  }))
  /** Counts the rows of a slice, which have a time `at`, up to one more than the maximum; returns whether it is reached. */
  function* add(kind: 'issued' | 'redeemed', rows: string, params: readonly Value[]): Op<boolean> {
    const [begin, end, parts, left] = [1, 2, 3, 4].map((it) => `$${params.length + it}`)
    const found = yield* all<Bucket>(
      `select cast((at - ${begin}) * ${parts} / (${end} - ${begin}) as bigint) as bucket, count(*) as counted
       from (${rows} limit ${left}) counted_rows group by 1`,
      [...params, from, until, buckets, maximum + 1 - counted[kind]],
    )
    for (const { bucket, counted: n } of found) {
      ;(items[Number(bucket)] as (typeof items)[number])[kind] += Number(n)
      counted[kind] += Number(n)
    }
    if (counted[kind] <= maximum) return false
    complete = false
    return true
  }
  yield* inSlices(
    { from: 'vouchers where issued_at >= $1 and issued_at < $2', params: [from, until], at: 'issued_at' },
    (slice, params) => add('issued', `select issued_at as at from ${slice} order by issued_at desc, id desc`, params),
  )
  // Redemptions have no index by time, which each redeem would have to write, but their ids begin with the time of the
  // call. A call may wait for locks before it redeems, and other processes have other clocks.
  const first = idsSince('rdm', Math.max(0, from - PROCESS_CLOCK_SKEW_MS_MAX))
  const last = idsSince('rdm', until + PROCESS_CLOCK_SKEW_MS_MAX)
  const rows = 'redemptions where application_id = $1 and id >= $2 and id < $3'
  yield* inSlices({ from: 'applications where true', params: [] }, function* (slice, params) {
    const [low, high] = [1, 2].map((it) => `$${params.length + it}`)
    const redeemed = `select 1 from redemptions r where r.application_id = applications.id and r.id >= ${low} and r.id < ${high}`
    const active = `select id from ${slice} and exists (${redeemed})`
    for (const { id } of yield* all<{ id: string }>(active, [...params, first, last])) {
      for (let start: string | undefined = first; start !== undefined; ) {
        const next: { id: string } | undefined = yield* oneLater(
          `select id from ${rows} order by id limit 1 offset ${SLICE_ROWS}`,
          [...[id, start, last]],
        )
        const inPeriod = `select redeemed_at as at from ${rows} and redeemed_at >= $4 and redeemed_at < $5`
        if (yield* add('redeemed', inPeriod, [id, start, next?.id ?? last, from, until])) return true
        start = next?.id
      }
    }
    return false
  })
  return { until: formatInstant(until), items, complete }
}
