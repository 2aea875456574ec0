import type { Connection, Submittable } from 'pg'
import type { Row, Value } from '../operation.js'

/** A statement on its way, in the characters that the server parses. */
export interface Sent {
  readonly sql: string
  readonly params: readonly Value[]
}

export interface Result {
  readonly rows: readonly Row[]
  /** How many rows were written or read. */
  readonly count: number
  /** What was done, such as `INSERT 0 1` or `COMMIT`. */
  readonly tag: string
}

interface Field {
  readonly name: string
  readonly dataTypeID: number
}

interface Prepared {
  readonly name: string
  /** Null until the first answer told; empty where no rows come. */
  fields: readonly Field[] | null
  /** How often it may still be run. */
  left: number
}

/** int8, int2, int4, oid, float8, numeric (what sum() of integers is). */
const NUMBERS = new Set([20, 21, 23, 26, 701, 1700])
const BOOLEAN = 16

/** How often a statement is run before it is prepared anew; then twice as often, and so on, up to the second. */
const RUNS_FIRST = 64
const RUNS_MAX = 4_096

/**
 * What a connection has prepared, by SQL. PostgreSQL keeps the plan of the first few runs. Where tables were empty then,
 * all indexes cost the same, and the one that was made last is taken: that plan reads every row of an application, until
 * the tables are analysed a minute later.
 */
export class Statements {
  readonly #prepared = new Map<string, Prepared>()
  readonly #lasts = new Map<string, number>()
  #made = 0

  /** Undefined for one that is to be prepared: `add`. */
  use(sql: string): Prepared | undefined {
    const prepared = this.#prepared.get(sql)
    return prepared === undefined || prepared.left-- === 0 ? undefined : prepared
  }

  /** @returns with the name of the one that it takes the place of */
  add(sql: string): { readonly prepared: Prepared; readonly before: string | undefined } {
    const before = this.#prepared.get(sql)?.name
    const lasts = this.#lasts.get(sql) ?? RUNS_FIRST
    this.#lasts.set(sql, Math.min(lasts * 2, RUNS_MAX))
    const prepared: Prepared = { name: `s${++this.#made}`, fields: null, left: lasts - 1 }
    this.#prepared.set(sql, prepared)
    return { prepared, before }
  }

  remove(sql: string): void {
    this.#prepared.delete(sql)
  }
}

/**
 * Sends statements side by side and reads their answers together: one round trip, and one wake-up of either process.
 * An error ends what follows it. pg sends a query when the one before was answered; this is its extension point.
 */
export class Batch implements Submittable {
  readonly #sent: readonly Sent[]
  readonly #statements: Statements
  readonly #settle: (error: Error | null, results: readonly Result[]) => void
  readonly #used: Prepared[] = []
  readonly #fresh: string[] = []
  readonly #results: Result[] = []
  #fields: readonly Field[] = []
  #rows: Row[] = []
  #settled = false

  constructor(
    sent: readonly Sent[],
    statements: Statements,
    settle: (error: Error | null, results: readonly Result[]) => void,
  ) {
    this.#sent = sent
    this.#statements = statements
    this.#settle = settle
  }

  submit(connection: Connection): void {
    connection.stream.cork()
    for (const { sql, params } of this.#sent) {
      let prepared = this.#statements.use(sql)
      if (prepared === undefined) {
        const added = this.#statements.add(sql)
        prepared = added.prepared
        this.#fresh.push(sql)
        if (added.before !== undefined) connection.close({ type: 'S', name: added.before }, true)
        connection.parse({ name: prepared.name, text: sql, types: [] }, true)
      }
      this.#used.push(prepared)
      connection.bind({ statement: prepared.name, values: params.map(textOf) }, true)
      if (prepared.fields === null) connection.describe({ type: 'P' }, true)
      connection.execute({}, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, dataTypeID }))
    const prepared = this.#used[this.#results.length] as Prepared
    prepared.fields = this.#fields
  }

  handleDataRow({ fields: values }: { readonly fields: readonly (string | null)[] }): void {
    const fields = (this.#used[this.#results.length] as Prepared).fields ?? this.#fields
    const row: Record<string, Value> = {}
    for (let index = 0; index < fields.length; index++) {
      const { name, dataTypeID } = fields[index] as Field
      row[name] = valueOf(values[index] as string | null, dataTypeID)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const prepared = this.#used[this.#results.length] as Prepared
    prepared.fields ??= []
    this.#results.push({ rows: this.#rows, count: Number(/(\d+)$/.exec(text)?.[1] ?? 0), tag: text })
    this.#rows = []
  }

  handleError(error: Error): void {
    // Which of them the server has parsed before the error is not told: others are made under other names.
    for (const sql of this.#fresh) this.#statements.remove(sql)
    this.#end(error)
  }

  handleReadyForQuery(): void {
    this.#end(null)
  }

  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}

  #end(error: Error | null): void {
    if (this.#settled) return
    this.#settled = true
    this.#settle(error, this.#results)
  }
}

function textOf(value: Value): string | null {
  return typeof value === 'number' ? String(value) : value
}

/** As SQLite answers them: numbers, text and null, flags as 0 and 1. */
function valueOf(text: string | null, type: number): Value {
  if (text === null) return null
  if (NUMBERS.has(type)) return Number(text)
  return type === BOOLEAN ? Number(text === 't') : text
}
