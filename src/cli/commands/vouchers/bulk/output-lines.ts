import type { BulkFormat } from './input/read-rows.js'

/** Columns of the results, and members of their objects. */
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

/** Columns of the failures, and members of their objects. */
export const errorColumns = ['line', 'external_issue_id', 'recipient_user_id', 'code', 'message', 'request_id'] as const

type LineOf<Columns extends readonly string[]> = Readonly<Record<Columns[number], string | number | null | undefined>>

/** Header of a file. */
export const headOf = (columns: readonly string[], format: BulkFormat) => (format === 'csv' ? csvLine(columns) : '')

/** One line: CSV (RFC 4180) with LF and exact values, or a JSON object. An absent value is empty, or null. */
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

/** True for an errors file of a run, which another run may replace. */
export function looksLikeErrors(start: string): boolean {
  const [first = ''] = start.split('\n')
  return first === errorColumns.join(',') || first.startsWith('{"line":')
}
