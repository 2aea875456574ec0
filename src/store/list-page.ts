import { all, count, endOfSlice, type Op, type Value } from './operation.js'

/** Rows of the first slice, and on SQLite of every slice: it reads them in about a millisecond. */
export const SLICE_ROWS = 1_000

/** Maximum of a list of reviews, which has no pages: the oldest of each kind (DECISIONS.md#operator-api). */
export const REVIEWS_MAX = 200

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

/** Returns SQL. @param add adds a parameter and returns its name */
export type Condition = (add: (value: Value) => string) => string

/** The condition that a column has a value; none without a value. */
export const equals = (column: string, value: Value | undefined): readonly Condition[] =>
  value === undefined ? [] : [(add) => `${column} = ${add(value)}`]

interface ListOptions {
  /** SQL of the time in the order; `+created_at` keeps SQLite from an index of the order where another finds few rows. */
  readonly at?: string
  /** Leaves out older rows. A second lower bound in `from` would make SQLite read all of them for each slice. */
  readonly since?: number | undefined
  /** Conditions that the index of the order does not cover. */
  readonly match?: readonly Condition[]
}

interface Place {
  readonly at: number
  readonly id: string
}

/**
 * Reads one page of a list, newest first, then by id (DECISIONS.md#lists). Counts its rows in slices, between which the
 * store serves other calls; SQLite reads each slice in the state of its moment.
 * @param from SQL after `from` with a `where`, without an order; an index with the order must cover its conditions
 */
export function* listPage<R, T>(
  from: string,
  params: readonly Value[],
  { page = 1, limit = 20 }: PageRequest,
  record: (row: R) => T,
  { at = 'created_at', since = 0, match = [] }: ListOptions = {},
): Op<Page<T>> {
  const items: R[] = []
  let total = 0
  let before: Place | undefined = { at: Number.MAX_SAFE_INTEGER, id: '' }
  for (let pauses = false; before !== undefined; pauses = true) {
    const values: Value[] = [...params]
    const add = (value: Value) => `$${values.push(value)}`
    const above: string = `${from} and (${at}, id) < (${add(before.at)}, ${add(before.id)})`
    const last: Place | undefined = yield* endOfSlice<Place>(
      `select ${at} as at, id from ${above} and (${at}, id) >= ($${values.length + 1}, '')
       order by ${at} desc, id desc limit 1 offset $${values.length + 2}`,
      [...values, since],
      SLICE_ROWS,
      pauses,
    )
    const slice = `${above} and (${at}, id) >= (${add(last?.at ?? since)}, ${add(last?.id ?? '')})`
    const rows = [slice, ...match.map((it) => it(add))].join(' and ')
    const n = yield* count(rows, [...values])
    const [left, skipped] = [limit - items.length, Math.max(0, (page - 1) * limit - total)]
    if (left > 0 && skipped < n) {
      const sql = `select * from ${rows} order by ${at} desc, id desc limit ${add(left)} offset ${add(skipped)}`
      items.push(...(yield* all<R>(sql, values)))
    }
    total += n
    before = last
  }
  return { items: items.map(record), pagination: paginationOf(total, page, limit) }
}
