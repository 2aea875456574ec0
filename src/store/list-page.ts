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

/** Columns that sort a list before the id, with a value below and one above all values of the first column. */
interface Order {
  readonly columns: readonly string[]
  /** The first column as an expression that no index has. */
  readonly unindexed: string
  readonly low: Value
  readonly high: Value
}

const byTime = (column: string): Order => ({
  columns: [column],
  unindexed: `+${column}`,
  low: 0,
  high: Number.MAX_SAFE_INTEGER,
})

/** The other columns have numbers above 0. */
const byText = (...columns: readonly string[]): Order => ({
  columns,
  unindexed: `${columns[0]} || ''`,
  low: '',
  high: '\u{10ffff}',
})

/** Columns that sort lists of the operator. An index of each list that names one has the order. */
const orders = {
  created_at: byTime('created_at'),
  issued_at: byTime('issued_at'),
  recipient_user_id: byText('recipient_user_id', 'issued_at'),
  external_issue_id: byText('external_issue_id'),
  external_template_id: byText('external_template_id'),
  bot_id: byText('bot_id', 'update_id'),
} as const satisfies Readonly<Record<string, Order>>

interface ListOptions {
  /** Column to sort by; `-` before it for the highest first. */
  readonly sort?: keyof typeof orders | `-${keyof typeof orders}` | undefined
  /** Keeps SQLite from the index for the order, because another one finds few rows. */
  readonly isSmall?: boolean
  /** Omits earlier rows of a list by time. As a second lower bound in `from`, SQLite would read them for each slice. */
  readonly since?: number | undefined
  /** Conditions that the index for the order does not cover; `slice` names the row. */
  readonly match?: readonly Condition[]
}

/** Builds a statement with the rows per slice at `$rows`. @param pauses false for the first slice, which is small */
const sliced = (sql: string, params: readonly Value[], pauses: boolean) => ({
  sql: sql.replace('$rows', `$${params.length + 1}`),
  params: [...params, SLICE_ROWS],
  ...(pauses && { hasSlice: true as const }),
})

/**
 * Reads one page of a list, by default newest first, then by id (rules/calls.md#lists). Counts its rows in slices,
 * between which the store serves other calls; SQLite reads each slice in the state of its moment.
 * @param from SQL after `from` with a `where`, without an order; an index with the order must cover its conditions
 */
export function* listPage<R, T>(
  from: string,
  params: readonly Value[],
  { page = 1, limit = 20 }: PageRequest,
  record: (row: R) => T,
  { sort = '-created_at', isSmall = false, since, match = [] }: ListOptions = {},
): Op<Page<T>> {
  const isDescending = sort.startsWith('-')
  const { columns, unindexed, low, high } = orders[sort.replace('-', '') as keyof typeof orders]
  const keys = [isSmall ? unindexed : columns[0], ...columns.slice(1), 'id']
  const order = `order by ${keys.map((it) => (isDescending ? `${it} desc` : it)).join(', ')}`
  const selected = keys.map((it, index) => `${it} as k${index}`).join(', ')
  /** Place of a first column with this value, before all rows that have the value too. */
  const placeAt = (first: Value) => [first, ...columns.slice(1).map(() => 0), '']
  const bounds = { low: placeAt(since ?? low), high: placeAt(high) }
  const items: R[] = []
  let total = 0
  let hasMore = true
  for (let pauses = false; hasMore; pauses = true) {
    const values: Value[] = [...params]
    const add = (value: Value) => `$${values.push(value)}`
    const [key, above, below] = [keys, bounds.low.map(add), bounds.high.map(add)].map((it) => `(${it.join(', ')})`)
    const rows: string = `${from} and ${key} < ${below} and ${key} > ${above}`
    const end = sliced(`select ${selected} from ${rows} ${order} limit 1 offset $rows - 1`, values, pauses)
    const last = (yield { ...end, kind: 'one', pauses }) as Readonly<Record<string, Value>> | undefined
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
    hasMore = last !== undefined
    if (last) bounds[isDescending ? 'high' : 'low'] = keys.map((_, index) => last[`k${index}`] as Value)
  }
  return { items: items.map(record), pagination: paginationOf(total, page, limit) }
}
