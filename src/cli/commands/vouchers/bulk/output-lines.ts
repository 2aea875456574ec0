import type { BulkFormat } from './input/read-rows.js'

/** Columns of the results file in CSV, and member names in NDJSON. */
export const resultColumns = [
  'line',
  'external_issue_id',
  'recipient_user_id',
  'voucher_id',
  'redeem_code',
  'qr_token',
  'valid_from',
  'valid_until',
] as const

/** Columns of the errors file in CSV, and member names in NDJSON. */
export const errorColumns = ['line', 'external_issue_id', 'recipient_user_id', 'code', 'message', 'request_id'] as const

type LineOf<Columns extends readonly string[]> = Readonly<Record<Columns[number], string | number | null | undefined>>

/** First line of an output file: the column names in CSV, nothing in NDJSON. */
export const headOf = (columns: readonly string[], format: BulkFormat) => (format === 'csv' ? csvLine(columns) : '')

/** Encodes a line of CSV (RFC 4180, but LF only) or NDJSON. An absent value is empty in CSV and null in NDJSON. */
export function encodeLine<Columns extends readonly string[]>(
  columns: Columns,
  format: BulkFormat,
  line: LineOf<Columns>,
): string {
  const values = columns.map((name) => line[name as Columns[number]] ?? null)
  if (format === 'csv') return csvLine(values)
  return `${JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, values[i]])))}\n`
}

const csvLine = (values: readonly unknown[]) => `${values.map(csvValue).join(',')}\n`

function csvValue(value: unknown): string {
  const text = value === null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** True if a file starts like an errors file of an earlier run, which a run may replace. */
export function looksLikeErrors(start: string): boolean {
  const [first = ''] = start.split('\n')
  return first === errorColumns.join(',') || first.startsWith('{"line":')
}
