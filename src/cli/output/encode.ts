import { mapTexts, plain } from './plain.js'

/** Characters that JSON leaves as they are and a terminal would obey. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** JSON with a line feed at the end. Control characters stay what they are, escaped. */
export function encodeJson(data: unknown, indent?: number): string {
  return `${escapeControls(JSON.stringify(data, null, indent) ?? 'null')}\n`
}

/** In double quotes, where JSON and YAML read the same escape. */
export const escapeControls = (text: string) =>
  text.replace(UNESCAPED, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)

export async function encodeYaml(data: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  const quoted = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' } as const
  const mustQuote = (JSON.stringify(data) ?? '').search(UNESCAPED) >= 0
  return escapeControls(stringify(data, { lineWidth: 0, ...(mustQuote ? quoted : {}) }))
}

/**
 * One row a record; members of members become columns such as `validity.type`, lists are JSON. Without a record the
 * header names the fields that were asked for. Values are exact, quoted as RFC 4180 has it, also those that a
 * spreadsheet takes for a formula: a guard would change them for every other reader. CSV has no escapes, so that only
 * on a terminal control characters are left out.
 */
export async function encodeCsv(
  records: readonly unknown[],
  fields: readonly string[] = [],
  onTerminal = false,
): Promise<string> {
  const columns = records.length === 0 ? fields : columnsOf(records)
  return columns.length === 0 && records.length === 0 ? '' : csvRows(records, columns, true, onTerminal)
}

/** Every column that some of the records have. */
export const columnsOf = (records: readonly unknown[]) => [
  ...new Set(records.flatMap((record) => Object.keys(flatten(record)))),
]

/** Records as rows of these columns, below a header or below other rows. */
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
