import { createHash } from 'node:crypto'
import type { Row } from '../operation.js'
import { type Moved, moved } from './tables.js'

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

/** What is said of a file at its end: how many rows each table has, and the SHA-256 of its lines, in hex. */
export interface Sums {
  readonly rows: Readonly<Record<string, number>>
  readonly sha256: Readonly<Record<string, string>>
  /** Of every byte before the last line. */
  readonly total_sha256: string
}

export const totalOf = (rows: Sums['rows']): number => Object.values(rows).reduce((sum, it) => sum + it, 0)

/** Adds up the lines of an export as they are written or read. */
export class Digest {
  readonly #total = createHash('sha256')
  readonly #tables = new Map<Moved, { rows: number; readonly hash: ReturnType<typeof createHash> }>()

  /** @param text with its line feed */
  addHeader(text: string): void {
    this.#total.update(text)
  }

  /** @param text lines, each with its line feed */
  addRows(table: Moved, text: string, count: number): void {
    let sum = this.#tables.get(table)
    if (sum === undefined) {
      sum = { rows: 0, hash: createHash('sha256') }
      this.#tables.set(table, sum)
    }
    sum.rows += count
    sum.hash.update(text)
    this.#total.update(text)
  }

  /** Of tables with rows alone, in their order; nothing can be added afterwards. */
  end(): Sums {
    const found = moved.flatMap((name) => {
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
