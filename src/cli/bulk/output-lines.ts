import type { BulkAction, ResultLine } from './action.js'
import type { BulkFormat } from './input/read-rows.js'

/** Columns of the errors file in CSV, and member names in NDJSON. */
export const errorColumnsOf = ({ errorIds }: Pick<BulkAction, 'errorIds'>): readonly string[] => [
  'line',
  ...errorIds,
  'code',
  'message',
  'request_id',
]

/** First line of an output file: the column names in CSV, nothing in NDJSON. */
export const headOf = (columns: readonly string[], format: BulkFormat) => (format === 'csv' ? csvLine(columns) : '')

/** Encodes a line of CSV (RFC 4180, but LF only) or NDJSON. An absent value is empty in CSV and null in NDJSON. */
export function encodeLine(columns: readonly string[], format: BulkFormat, line: ResultLine): string {
  const values = columns.map((name) => line[name] ?? null)
  if (format === 'csv') return csvLine(values)
  return `${JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, values[i]])))}\n`
}

const csvLine = (values: readonly unknown[]) => `${values.map(csvValue).join(',')}\n`

function csvValue(value: unknown): string {
  const text = value === null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** True if a file starts like an errors file of an earlier run, which a run may replace. */
export function looksLikeErrors(start: string, columns: readonly string[]): boolean {
  const [first = ''] = start.split('\n')
  return first === columns.join(',') || first.startsWith('{"line":')
}
