import type { Statement, Value } from '../operation.js'

const KEPT_MAX = 10_000

/**
 * Cache for the rows of statements with `keep`. A write to a table discards the rows that were read from it. Correct
 * only because no other connection writes the file (open.ts).
 */
export class RowCache {
  /** Cached rows by SQL, then by parameters. */
  readonly #rows = new Map<string, Map<string, unknown>>()
  readonly #tables = new Set<string>()
  /** By the SQL of a write: true if the write invalidates the cache. Cleared when a new statement reads the cache. */
  readonly #concerns = new Map<string, boolean>()

  /** Returns the cached row of `statement`, or the result of `read`. */
  row({ sql, params }: Statement, read: () => unknown): unknown {
    const rows = this.#rowsOf(sql)
    const key = params.map(text).join(' ')
    if (rows.has(key)) return rows.get(key)
    if (rows.size >= KEPT_MAX) rows.clear()
    const row = read()
    rows.set(key, row)
    return row
  }

  /** Invalidates the cache after a write. Call `written` for every writing statement before the next read. */
  written(sql: string): void {
    let concerns = this.#concerns.get(sql)
    if (concerns === undefined) {
      const table = tableWrittenBy(sql)
      concerns = table === undefined || this.#tables.has(table)
      this.#concerns.set(sql, concerns)
    }
    if (concerns) this.clear()
  }

  /** Discards all rows, for a write outside of the statements of operations. */
  clear(): void {
    for (const rows of this.#rows.values()) rows.clear()
  }

  #rowsOf(sql: string): Map<string, unknown> {
    let rows = this.#rows.get(sql)
    if (rows === undefined) {
      rows = new Map()
      this.#rows.set(sql, rows)
      this.#concerns.clear()
      for (const table of tablesReadBy(sql)) this.#tables.add(table)
    }
    return rows
  }
}

/** Encodes a parameter with its length, so that different parameter lists have different cache keys. */
function text(value: Value): string {
  return typeof value === 'string' ? `${value.length}:${value}` : String(value)
}

/** Statements of this store name each table after `from` or `join`, never in a comma-separated list. */
function tablesReadBy(sql: string): string[] {
  return [...sql.matchAll(/\b(?:from|join)\s+(\w+)/gi)].map((match) => (match[1] as string).toLowerCase())
}

/** Returns the table that a statement writes; undefined for an unknown form, which counts as a write to every table. */
function tableWrittenBy(sql: string): string | undefined {
  return /^\s*(?:insert\s+into|update|delete\s+from)\s+(\w+)/i.exec(sql)?.[1]?.toLowerCase()
}
