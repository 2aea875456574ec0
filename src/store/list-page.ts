import type { Op, Value } from './operation.js'

/** Rows of the first slice, and of every slice on SQLite, which reads them in about a millisecond. */
export const SLICE_ROWS = 1_000

/** Maximum reviews of each kind, oldest first, because the list has no pages (rules/operator.md#operator-api). */
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

/** Returns the condition that a column has a value; none if the value is undefined. */
export const equals = (column: string, value: Value | undefined): readonly Condition[] =>
  value === undefined ? [] : [(add) => `${column} = ${add(value)}`]

interface ListOptions {
  /** SQL of the time to sort by; `+created_at` keeps SQLite from the index for the order, if another finds few rows. */
  readonly at?: string
  /** Omits older rows. As a second lower bound in `from`, SQLite would read all these rows for each slice. */
  readonly since?: number | undefined
  /** Conditions that the index for the order does not cover; `slice` names the row. */
  readonly match?: readonly Condition[]
}

interface Place {
  readonly at: number
  readonly id: string
}

/** Builds a statement with the rows per slice at `$rows`. @param pauses false for the first slice, which is small */
const sliced = (sql: string, params: readonly Value[], pauses: boolean) => ({
  sql: sql.replace('$rows', `$${params.length + 1}`),
  params: [...params, SLICE_ROWS],
  ...(pauses && { hasSlice: true as const }),
})

/**
 * Reads one page of a list, newest first, then by id (rules/calls.md#lists). Counts its rows in slices, between which
 * the store serves other calls; SQLite reads each slice in the state of its moment.
 * @param from SQL after `from` with a `where`, without an order; an index with the order must cover its conditions
 */
export function* listPage<R, T>(
  from: string,
  params: readonly Value[],
  { page = 1, limit = 20 }: PageRequest,
  record: (row: R) => T,
  { at = 'created_at', since = 0, match = [] }: ListOptions = {},
): Op<Page<T>> {
  const order = `order by ${at} desc, id desc`
  const items: R[] = []
  let total = 0
  let before: Place | undefined = { at: Number.MAX_SAFE_INTEGER, id: '' }
  for (let pauses = false; before !== undefined; pauses = true) {
    const values: Value[] = [...params]
    const add = (value: Value) => `$${values.push(value)}`
    const rows: string = `${from} and (${at}, id) < (${add(before.at)}, ${add(before.id)}) and (${at}, id) >= (${add(since)}, '')`
    const end = sliced(`select ${at} as at, id from ${rows} ${order} limit 1 offset $rows - 1`, values, pauses)
    const last = (yield { ...end, kind: 'one', pauses }) as Place | undefined
    // With a limit, PostgreSQL reads the index in order; without one, it overestimates the number of rows.
    const conditions = match.map((it) => it(add)).join(' and ')
    const slice = (columns: string) =>
      `from (select ${columns} from ${rows} ${order} limit $rows) slice ${conditions && `where ${conditions}`}`
    const counted = `select count(*) as n ${slice(conditions === '' ? '1' : '*')}`
    const { n } = (yield { ...sliced(counted, values, pauses), kind: 'one' }) as { n: number }
    const [left, skipped] = [limit - items.length, Math.max(0, (page - 1) * limit - total)]
    if (left > 0 && skipped < Number(n)) {
      const some = `select * ${slice('*')} ${order} limit ${add(left)} offset ${add(skipped)}`
      items.push(...((yield { ...sliced(some, values, pauses), kind: 'all' }) as R[]))
    }
    total += Number(n)
    before = last
  }
  return { items: items.map(record), pagination: paginationOf(total, page, limit) }
}
