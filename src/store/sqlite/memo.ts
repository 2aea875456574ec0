import type { Statement, Value } from '../operation.js'

const KEPT_MAX = 10_000

/**
 * Rows of the statements that ask to be kept, until a table that they read is written. It is exact only where
 * nobody else writes the database: SQLite's file belongs to one connection (open.ts).
 */
export class Memo {
  /** By SQL, then by parameters. */
  readonly #rows = new Map<string, Map<string, unknown>>()
  readonly #tables = new Set<string>()
  /** Whether a writing statement concerns the rows, by its SQL; known anew when a statement is added. */
  readonly #concerns = new Map<string, boolean>()

  /** The row of `statement`, from `read` when it is not kept. */
  row({ sql, params }: Statement, read: () => unknown): unknown {
    const rows = this.#rowsOf(sql)
    const key = params.map(text).join(' ')
    if (rows.has(key)) return rows.get(key)
    if (rows.size >= KEPT_MAX) rows.clear()
    const row = read()
    rows.set(key, row)
    return row
  }

  /** To be told of every writing statement, before the next read. */
  written(sql: string): void {
    let concerns = this.#concerns.get(sql)
    if (concerns === undefined) {
      const table = tableWrittenBy(sql)
      concerns = table === undefined || this.#tables.has(table)
      this.#concerns.set(sql, concerns)
    }
    if (concerns) for (const rows of this.#rows.values()) rows.clear()
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

/** No two lists of values give one text. */
function text(value: Value): string {
  return typeof value === 'string' ? `${value.length}:${value}` : String(value)
}

/** Tables stand after `from` or `join` in the statements of this store, never in a list with commas. */
function tablesReadBy(sql: string): string[] {
  return [...sql.matchAll(/\b(?:from|join)\s+(\w+)/gi)].map((match) => (match[1] as string).toLowerCase())
}

/** Undefined for a form that is not known here, which then concerns every table. */
function tableWrittenBy(sql: string): string | undefined {
  return /^\s*(?:insert\s+into|update|delete\s+from)\s+(\w+)/i.exec(sql)?.[1]?.toLowerCase()
}
