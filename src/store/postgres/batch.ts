import type { Connection, Submittable } from 'pg'
import type { Row, Value } from '../operation.js'
import { DatabaseFailure } from './errors.js'

export interface Result {
  readonly rows: readonly Row[]
  /** Number of rows written or read. */
  readonly count: number
  /** Command tag of PostgreSQL without counts, such as `INSERT` or `COMMIT`. */
  readonly command: string
}

export interface Query {
  readonly sql: string
  readonly params: readonly Value[]
  readonly resolve: (result: Result) => void
  readonly reject: (failure: DatabaseFailure) => void
}

interface Field {
  readonly name: string
  readonly parse: (text: string) => Value
}

interface Prepared {
  readonly name: string
  /** Columns of the result; null until the first result of the statement. */
  fields: readonly Field[] | null
}

/** Type ids of int8, int2, int4, oid, float8 and numeric (the type of a sum of integers). */
const NUMBERS = new Set([20, 21, 23, 26, 701, 1700])
const BOOLEAN = 16

/** Returns a parser that yields the same values as SQLite: numbers and text, flags as 0 and 1. */
export function parserOf(type: number): (text: string) => Value {
  if (NUMBERS.has(type)) return Number
  return type === BOOLEAN ? (text) => Number(text === 't') : (text) => text
}

const textOf = (value: Value) => (value === null ? null : String(value))

let made = 0

/** Transactions after which a connection discards its plans; each time the number doubles, up to REPLAN_MAX. */
const REPLAN_FIRST = 64
const REPLAN_MAX = 4_096

/**
 * The prepared statements of a connection. PostgreSQL caches a plan after the first runs of a statement. A plan made
 * for an empty table may scan every row of an application until autovacuum analyses the table, about a minute later.
 */
export class Statements {
  readonly #prepared = new Map<string, Prepared>()
  #interval = REPLAN_FIRST
  #left = REPLAN_FIRST

  get(sql: string): Prepared | undefined {
    return this.#prepared.get(sql)
  }

  add(sql: string): Prepared {
    const prepared = { name: `s${++made}`, fields: null }
    this.#prepared.set(sql, prepared)
    this.#interval = this.#left = REPLAN_FIRST
    return prepared
  }

  delete(sql: string): void {
    this.#prepared.delete(sql)
  }

  /** Counts a transaction. @returns true if it should begin with `discard plans` */
  needReplan(): boolean {
    if (--this.#left > 0) return false
    this.#interval = this.#left = Math.min(this.#interval * 2, REPLAN_MAX)
    return true
  }
}

/**
 * Sends statements in one round trip with one Sync: after an error PostgreSQL skips the remaining statements. pg's
 * `pipeline` syncs and flushes after each statement, which takes 50 % more CPU time (test/bench/README.md, P12).
 */
export class Batch implements Submittable {
  readonly #queries: readonly Query[]
  readonly #statements: Statements
  readonly #settled: (error?: Error) => DatabaseFailure | undefined
  readonly #prepared: Prepared[] = []
  readonly #results: Result[] = []
  #rows: Row[] = []

  /** @param settled called after the batch; converts an error of pg to a failure */
  constructor(
    queries: readonly Query[],
    statements: Statements,
    settled: (error?: Error) => DatabaseFailure | undefined,
  ) {
    this.#queries = queries
    this.#statements = statements
    this.#settled = settled
  }

  submit(connection: Connection): void {
    connection.stream.cork()
    for (const { sql, params } of this.#queries) {
      let prepared = this.#statements.get(sql)
      if (prepared === undefined) {
        prepared = this.#statements.add(sql)
        connection.parse({ name: prepared.name, text: sql, types: [] }, true)
      }
      this.#prepared.push(prepared)
      connection.bind({ statement: prepared.name, values: params.map(textOf) }, true)
      if (prepared.fields === null) connection.describe({ type: 'P' }, true)
      connection.execute({}, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#current.fields = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }))
  }

  handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, Value> = {}
    const fields = this.#current.fields ?? []
    for (let index = 0; index < fields.length; index++) {
      const { name, parse } = fields[index] as Field
      const text = texts[index] as string | null
      row[name] = text === null ? null : parse(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#current.fields ??= []
    const words = text.split(' ')
    this.#results.push({ rows: this.#rows, count: Number(words.at(-1)) || 0, command: words[0] as string })
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.#settled()
    for (const [index, { resolve }] of this.#queries.entries()) resolve(this.#results[index] as Result)
  }

  handleError(error: Error): void {
    const failure = this.#settled(error) as DatabaseFailure
    for (const [index, { sql, resolve, reject }] of this.#queries.entries()) {
      const result = this.#results[index]
      if (result !== undefined) resolve(result)
      else reject(index === this.#results.length || failure.isOutage ? failure : ABORTED)
      // PostgreSQL may have parsed the statement already, so parse it with a new name next time.
      if (this.#prepared[index]?.fields === null) this.#statements.delete(sql)
    }
  }

  get #current(): Prepared {
    return this.#prepared[this.#results.length] as Prepared
  }
}

const ABORTED = new DatabaseFailure({ code: '25P02', severity: 'ERROR', message: 'an earlier statement has failed' })
