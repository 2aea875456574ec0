import { existsSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { readLines } from '../../files/summed-lines.js'
import { parseObject } from '../../values/json.js'
import type { ResultLine } from './action.js'
import { isOpen } from './input/csv-records.js'
import type { BulkFormat } from './input/read-rows.js'

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

interface WrittenLine {
  /** An empty value of CSV is absent. A damaged line has other values, or none. */
  readonly values: Readonly<Record<string, unknown>>
  /** Offset in the file after the line. */
  readonly end: number
}

/**
 * Reads the complete lines that `encodeLine` wrote into a file, if it exists.
 * @throws errors of the file system and of `requireFile`
 */
export function* readWritten(path: string, format: BulkFormat): Generator<WrittenLine> {
  if (!existsSync(path)) return
  let columns: readonly string[] | undefined
  let open: string | undefined
  for (const { offset, bytes, isTorn } of readLines(path)) {
    if (isTorn) return
    const line = bytes.toString()
    const text = open === undefined ? line : `${open}\n${line}`
    // A value in quotes may have line breaks.
    open = format === 'csv' && isOpen(line) === (open === undefined) ? text : undefined
    if (open !== undefined) continue
    const end = offset + bytes.length + 1
    if (format === 'ndjson') yield { values: parseObject(text) ?? {}, end }
    else if (columns === undefined) columns = csvValues(text)
    else {
      const values = csvValues(text)
      yield { values: Object.fromEntries(columns.map((name, i) => [name, values[i] || undefined])), end }
    }
  }
}

/** Values of a record; none if it is damaged. */
function csvValues(record: string): readonly string[] {
  if (!record.includes('"')) return record.split(',')
  try {
    const [values = []]: string[][] = parse(record, { record_delimiter: '\n' })
    return values
  } catch {
    return []
  }
}
