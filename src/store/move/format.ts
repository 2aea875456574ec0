import { createHash } from 'node:crypto'
import type { Row } from '../operation.js'
import { type ExportedTable, exportedTables } from '../tables.js'

/** Version of the export format; increment it when older versions can no longer read the file. */
export const FORMAT = 1

/** Id of a voucher credential key, and a check value that detects another key with the same id. */
export interface KeyCheck {
  readonly key_id: string
  readonly key_check: string
}

/** First line of an export. */
export interface Header {
  readonly voucherctl: 'export'
  readonly format: number
  readonly version: string
  /** Schema version of the exported store: the number of completed migrations. */
  readonly schema: number
  readonly dialect: 'sqlite' | 'postgres'
  readonly exported_at: string
  readonly keys: readonly KeyCheck[]
  /** Static keys of the encrypted transport, encrypted with the key file; null for a store without such keys. */
  readonly transport_keys: string | null
  /** Number of lines by table name; omits empty tables. */
  readonly rows: Readonly<Record<string, number>>
}

export const headerLine = (header: Header): string => `${JSON.stringify(header)}\n`

export const rowStart = (table: ExportedTable): string => `{"table":"${table}","row":`

/** One JSON line per row, with columns in the order of the select. */
export function rowLines(table: ExportedTable, rows: readonly Row[]): string {
  const start = rowStart(table)
  let text = ''
  for (const row of rows) text += `${start}${JSON.stringify(row)}}\n`
  return text
}

/** Start of an export's last line, whose checksums detect missing and changed lines. */
export const END_START = '{"end":'

export const endLine = (sums: Checksums): string => `${END_START}${JSON.stringify(sums)}}\n`

/** Thrown for a file that is damaged or not an export of this version; the message names the line. */
export class ExportUnusable extends Error {
  override readonly name = 'ExportUnusable'
  readonly code = 'EXPORT_UNUSABLE'
}

/** Content of the last line: row count and SHA-256 (hex) of each table's lines. */
export interface Checksums {
  readonly rows: Readonly<Record<string, number>>
  readonly sha256: Readonly<Record<string, string>>
  /** SHA-256 of every byte before the last line. */
  readonly total_sha256: string
}

export const totalOf = (rows: Checksums['rows']): number => Object.values(rows).reduce((sum, it) => sum + it, 0)

/** Computes the checksums of an export while it is written or read. */
export class Digest {
  readonly #total = createHash('sha256')
  readonly #tables = new Map<ExportedTable, { rows: number; readonly hash: ReturnType<typeof createHash> }>()

  /** @param text with its line feed */
  addHeader(text: string): void {
    this.#total.update(text)
  }

  /** @param text lines, each with its line feed */
  addRows(table: ExportedTable, text: string, count: number): void {
    let sum = this.#tables.get(table)
    if (sum === undefined) {
      sum = { rows: 0, hash: createHash('sha256') }
      this.#tables.set(table, sum)
    }
    sum.rows += count
    sum.hash.update(text)
    this.#total.update(text)
  }

  /** Returns the checksums of non-empty tables in export order. Call `end` once, after the last row. */
  end(): Checksums {
    const found = exportedTables.flatMap((name) => {
      const sum = this.#tables.get(name)
      return sum === undefined ? [] : [{ name, rows: sum.rows, sha256: sum.hash.digest('hex') }]
    })
    return {
      rows: Object.fromEntries(found.map((it) => [it.name, it.rows])),
      sha256: Object.fromEntries(found.map((it) => [it.name, it.sha256])),
      total_sha256: this.#total.digest('hex'),
    }
  }
}
