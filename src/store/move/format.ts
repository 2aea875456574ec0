import type { Row } from '../operation.js'
import type { Sums } from './digest.js'
import type { Moved } from './tables.js'

/** Changes when a program of before could not read the file any more. */
export const FORMAT = 1

/** A key that the vouchers were made with: its id, and the check that tells another key under the same id. */
export interface KeyCheck {
  readonly key_id: string
  readonly key_check: string
}

/** The first line. */
export interface Header {
  readonly voucherctl: 'export'
  readonly format: number
  /** Of the program that wrote it. */
  readonly version: string
  /** How many migrations the store had had. */
  readonly schema: number
  readonly dialect: 'sqlite' | 'postgres'
  readonly exported_at: string
  readonly keys: readonly KeyCheck[]
  /** Static keys of the encrypted transport, sealed under the key file; null where there are none. */
  readonly transport_keys: string | null
  /** How many lines of each table follow; tables without rows are not named. */
  readonly rows: Readonly<Record<string, number>>
}

export const headerLine = (header: Header): string => `${JSON.stringify(header)}\n`

/** What the line of a row begins with. */
export const rowStart = (table: Moved): string => `{"table":"${table}","row":`

/** Lines of rows as they were selected: their members by name. */
export function rowLines(table: Moved, rows: readonly Row[]): string {
  const start = rowStart(table)
  let text = ''
  for (const row of rows) text += `${start}${JSON.stringify(row)}}\n`
  return text
}

/** The last line: what is missing or changed before it is known by it. */
export const END_START = '{"end":'

export const endLine = (sums: Sums): string => `${END_START}${JSON.stringify(sums)}}\n`

/** A file that is no export of this version, or not as it was written: the message says where. */
export class ExportUnusable extends Error {
  override readonly name = 'ExportUnusable'
  readonly code = 'EXPORT_UNUSABLE'
}
