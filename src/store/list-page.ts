import { all, count, type Op, oneLater, type Value } from './operation.js'

/** Rows that a slice reads, in about a millisecond. */
export const SLICE_ROWS = 1_000

/** Maximum of a list of reviews, which has no pages: the oldest of each kind (DECISIONS.md#operator-api). */
export const REVIEWS_MAX = 1_000

export interface PageRequest {
  readonly page?: number
  readonly limit?: number
}

export interface Page<T> {
  items: T[]
  pagination: { page: number; limit: number; total: number; pages: number }
}

export const paginationOf = (total: number, page: number, limit: number): Page<unknown>['pagination'] => ({
  page,
  limit,
  total,
  pages: Math.ceil(total / limit),
})

/** Rows in the order of an index, which ends with the column `at` and the id. */
export interface SlicedRows {
  /** SQL after `from`, with a `where`. */
  readonly from: string
  readonly params: readonly Value[]
  readonly at?: string
}

/**
 * Reads rows without a bound, newest first: in slices, between which the store serves other calls. SQLite reads each
 * slice in the state of its moment.
 * @param read reads the rows of one slice, given as SQL after `from`; true ends the reading
 */
export function* inSlices(
  { from, params, at = 'created_at' }: SlicedRows,
  read: (slice: string, params: readonly Value[]) => Op<boolean>,
): Op<void> {
  const [time, id, endTime, endId] = [1, 2, 3, 4].map((it) => `$${params.length + it}`)
  const above = `${from} and (${at}, id) < (${time}, ${id})`
  const sql = `select ${at} as at, id from ${above} order by ${at} desc, id desc limit 1 offset ${SLICE_ROWS - 1}`
  let before: readonly (number | string)[] = [Number.MAX_SAFE_INTEGER, '']
  for (let pauses = false; ; pauses = true) {
    const end = yield* oneLater<{ at: number; id: string }>(sql, [...params, ...before], pauses)
    const last = [end?.at ?? 0, end?.id ?? '']
    const slice = `${above} and (${at}, id) >= (${endTime}, ${endId})`
    if ((yield* read(slice, [...params, ...before, ...last])) || end === undefined) return
    before = last
  }
}

interface ListOptions {
  readonly at?: string | undefined
  /** SQL of a condition that the index of the order does not cover. */
  readonly match?: string | undefined
  /** Known number of rows; otherwise counted. */
  readonly total?: number | undefined
}

/**
 * Reads one page of a list, newest first, then by id (DECISIONS.md#lists).
 * @param from SQL after `from`, such as `templates where application_id = $1`, without an order
 */
export function* listPage<R, T>(
  from: string,
  params: readonly Value[],
  { page = 1, limit = 20 }: PageRequest,
  record: (row: R) => T,
  { at = 'created_at', match = 'true', total: known }: ListOptions = {},
): Op<Page<T>> {
  const items: R[] = []
  let total = 0
  yield* inSlices({ from, params, at }, function* (slice, bounds) {
    const n = yield* count(`${slice} and ${match}`, bounds)
    const [left, skipped] = [limit - items.length, Math.max(0, (page - 1) * limit - total)]
    if (left > 0 && skipped < n) {
      const sql = `select * from ${slice} and ${match} order by ${at} desc, id desc`
      const places = `limit $${bounds.length + 1} offset $${bounds.length + 2}`
      items.push(...(yield* all<R>(`${sql} ${places}`, [...bounds, left, skipped])))
    }
    total += n
    return known !== undefined && (items.length === limit || total >= known)
  })
  return { items: items.map(record), pagination: paginationOf(known ?? total, page, limit) }
}
