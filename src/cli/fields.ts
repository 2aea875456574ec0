import { isList } from './show.js'

export interface Selected {
  readonly data: unknown
  /** For members that no record has. */
  readonly warnings: readonly string[]
}

/** `--fields`: of a list, the members of each item; of a record, its own. A path such as `voucher.status` goes inside. */
export function selectFields(data: unknown, fields: readonly string[]): Selected {
  const records = isList(data) ? data.items : [data]
  const warnings = fields
    .filter((field) => records.length > 0 && records.every((record) => valueAt(record, field) === undefined))
    .map((field) => `no member "${field}"; there are ${memberNames(records[0]).join(', ')}`)
  const pick = (record: unknown) => Object.fromEntries(fields.map((field) => [field, valueAt(record, field) ?? null]))
  return { data: isList(data) ? { ...data, items: records.map(pick) } : pick(data), warnings }
}

export function valueAt(record: unknown, path: string): unknown {
  let value = record
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function memberNames(record: unknown): string[] {
  return typeof record === 'object' && record !== null ? Object.keys(record) : []
}
