import { createHash } from 'node:crypto'
import { type Moved, moved } from './tables.js'

/** What is said of a file at its end: how many rows each table has, and the SHA-256 of its lines, in hex. */
export interface Sums {
  readonly rows: Readonly<Record<string, number>>
  readonly sha256: Readonly<Record<string, string>>
  /** Of every byte before the last line. */
  readonly total_sha256: string
}

/** Of all tables together. */
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
