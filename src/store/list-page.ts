import { all, count, type Op, type Value } from './operation.js'

export interface PageRequest {
  readonly page?: number
  readonly limit?: number
}

export interface Page<T> {
  items: T[]
  pagination: { page: number; limit: number; total: number; pages: number }
}

/**
 * Reads one page of a list, newest first, then by id (DECISIONS.md#lists).
 * @param from SQL after `from`, such as `templates where application_id = $1`, without an order
 */
export function* listPage<R, T>(
  from: string,
  params: readonly Value[],
  request: PageRequest,
  record: (row: R) => T,
  order = 'created_at desc, id desc',
): Op<Page<T>> {
  const { page = 1, limit = 20 } = request
  const total = yield* count(from, params)
  const [limitAt, offsetAt] = [`$${params.length + 1}`, `$${params.length + 2}`]
  const rows = yield* all<R>(`select * from ${from} order by ${order} limit ${limitAt} offset ${offsetAt}`, [
    ...params,
    limit,
    (page - 1) * limit,
  ])
  return { items: rows.map(record), pagination: { page, limit, total, pages: Math.ceil(total / limit) } }
}
