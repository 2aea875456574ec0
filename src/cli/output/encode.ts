import { escapeControls, yamlOptions } from '../../files/yaml-text.js'
import { mapTexts } from '../../values/json.js'
import { plain } from './text.js'

/** Encodes data as JSON with a final line feed. It escapes control characters, so no terminal interprets them. */
export function encodeJson(data: unknown, indent?: number): string {
  return `${escapeControls(JSON.stringify(data, null, indent) ?? 'null')}\n`
}

export async function encodeYaml(data: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(data, yamlOptions)
}

/**
 * Encodes records as CSV (RFC 4180). Nested members become columns such as `validity.type`, and lists become JSON.
 * Without records, the header has the requested fields. Values are exact: a guard against spreadsheet formulas would
 * change them for other readers. CSV has no escapes, so control characters are removed for a terminal.
 */
export async function encodeCsv(
  records: readonly unknown[],
  fields: readonly string[] = [],
  onTerminal = false,
): Promise<string> {
  const columns = records.length === 0 ? fields : columnsOf(records)
  return columns.length === 0 && records.length === 0 ? '' : csvRows(records, columns, true, onTerminal)
}

export const columnsOf = (records: readonly unknown[]) => [
  ...new Set(records.flatMap((record) => Object.keys(flatten(record)))),
]

export async function csvRows(
  records: readonly unknown[],
  columns: readonly string[],
  header: boolean,
  onTerminal: boolean,
): Promise<string> {
  const { stringify } = await import('csv-stringify/sync')
  const rows = records.map((record) => flatten(onTerminal ? mapTexts(record, plain) : record))
  return stringify(rows, { header, columns: columns.map((key) => ({ key })), cast: { boolean: String } })
}

function flatten(value: unknown, prefix = '', row: Record<string, unknown> = Object.create(null)) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    row[prefix === '' ? 'value' : prefix] = Array.isArray(value) ? JSON.stringify(value) : value
    return row
  }
  for (const [name, it] of Object.entries(value)) flatten(it, prefix === '' ? name : `${prefix}.${name}`, row)
  return row
}
