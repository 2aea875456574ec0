import type { Select } from './select.js'

/** A parameter or column value on every engine. Times are integers (ms), flags 0 or 1, hashes text. */
export type Value = string | number | null

export type Row = Readonly<Record<string, Value>>

/** `row` waits for locked rows, `skip` skips them; `skipOf` names the only table of a join to lock. */
export type RowLock = 'row' | 'skip' | { readonly skipOf: string }

/**
 * One portable SQL statement with `$1` parameters. With `lock`, an engine that has concurrent writers locks the rows
 * that the statement reads.
 */
export interface Statement {
  readonly kind: 'one' | 'all' | 'run'
  readonly sql: string
  readonly params: readonly Value[]
  readonly lock?: RowLock
  /** True for a statement of kind `one` that writes a row and returns it. */
  readonly changes?: true
  /** Lets a read pause before this statement. */
  readonly pauses?: boolean
  /** True if the last parameter is a number of rows, which an engine that serves other calls may raise. */
  readonly hasSlice?: true
  /** Lets an engine that is the only writer cache the row: many calls read it, few write it. */
  readonly keep?: true
}

/** A notice that the store sends to its listeners after the commit of the operation. */
export interface Notice {
  readonly kind: 'notify'
  /** Id of the changed object. */
  readonly subject: string
}

/**
 * A lock by subject until the end of the transaction, for rules about rows that do not exist yet, such as a maximum
 * per account. An engine with a single writer ignores such locks.
 */
export interface SubjectLock {
  readonly kind: 'lock'
  readonly subject: string
}

/** Independent statements, executed in list order; one round trip on a server database. */
export interface StatementBatch {
  readonly kind: 'several'
  readonly statements: readonly Statement[]
}

/** One step that an operation yields. The operation receives the result of a statement, or a list for a batch. */
export type Step = Statement | StatementBatch | Notice | SubjectLock

/**
 * A store operation: a generator that yields statements and receives their results. It never awaits, so the same
 * operation runs synchronously on SQLite and asynchronously on a server database.
 */
export type Op<T> = Generator<Step, T, unknown>

/** A queued operation with the promise that its caller awaits. */
export interface Pending {
  readonly op: () => Op<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Thrown by an operation whose last statement lost a race. The store rolls back the transaction and runs the operation
 * again. Never thrown on an engine with a single writer.
 */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

export function* one<R = Row>(
  sql: string | Select<R>,
  params: readonly Value[] = [],
  lock?: RowLock,
): Op<R | undefined> {
  return (yield lock === undefined ? { kind: 'one', sql, params } : { kind: 'one', sql, params, lock }) as R | undefined
}

/** Reads one row. For reads with many statements: the store may serve other calls first. */
export function* oneLater<R = Row>(sql: string, params: readonly Value[], pauses = true): Op<R | undefined> {
  return (yield { kind: 'one', sql, params, pauses }) as R | undefined
}

/** Reads all rows of a statement. The store may serve other calls first. */
export function* allLater<R = Row>(sql: string | Select<R>, params: readonly Value[], pauses: boolean): Op<R[]> {
  return (yield { kind: 'all', sql, params, pauses }) as R[]
}

/** Reads one row, which the store may cache between reads; the cached row is never stale. */
export function* oneCached<R = Row>(sql: string | Select<R>, params: readonly Value[]): Op<Readonly<R> | undefined> {
  return (yield { kind: 'one', sql, params, keep: true }) as Readonly<R> | undefined
}

export function* all<R = Row>(sql: string | Select<R>, params: readonly Value[] = [], lock?: RowLock): Op<R[]> {
  return (yield lock === undefined ? { kind: 'all', sql, params } : { kind: 'all', sql, params, lock }) as R[]
}

/** Runs a writing statement and returns the number of changed rows. */
export function* run(sql: string, params: readonly Value[] = []): Op<number> {
  return (yield { kind: 'run', sql, params }) as number
}

/** Runs one statement with each parameter list; one round trip on a server database. */
export function* runEach(sql: string, lists: readonly (readonly Value[])[]): Op<void> {
  if (lists.length > 0) yield { kind: 'several', statements: lists.map((params) => ({ kind: 'run', sql, params })) }
}

/**
 * Deletes the rows that a query finds, except rows that another process has locked; returns their number.
 * @param key columns that identify a row
 * @param where SQL after `where`, with a limit
 */
export function* deleteFound(
  table: string,
  key: readonly string[],
  where: string,
  params: readonly Value[],
): Op<number> {
  const found = yield* all(`select ${key.join(', ')} from ${table} where ${where}`, params, 'skip')
  yield* runEach(
    `delete from ${table} where ${key.map((name, index) => `${name} = $${index + 1}`).join(' and ')}`,
    found.map((row) => key.map((name) => row[name] as Value)),
  )
  return found.length
}

/** Writes one row with a `returning` clause and returns the row. */
export function* change<R = Row>(sql: string, params: readonly Value[]): Op<R | undefined> {
  return (yield { kind: 'one', sql, params, changes: true }) as R | undefined
}

/** Runs a query that always has one row, because it aggregates without `group by`. */
export function* aggregate<R = Row>(sql: string, params: readonly Value[] = []): Op<R> {
  return (yield* one<R>(sql, params)) as R
}

/** Counts rows. @param from the text after `from`, such as `tokens where application_id = $1` */
export function* count(from: string, params: readonly Value[]): Op<number> {
  const { n } = yield* aggregate<{ n: number }>(`select count(*) as n from ${from}`, params)
  return Number(n)
}

/**
 * Creates an operation that inserts an object as a row and returns the number of inserted rows.
 * @param conflict clause such as `on conflict do nothing`
 */
export function inserting<R extends object>(table: string, conflict = ''): (row: R) => Op<number> {
  let columns: readonly (keyof R)[] | undefined
  let sql = ''
  return (row) => {
    if (columns === undefined) {
      columns = Object.keys(row) as (keyof R)[]
      const places = columns.map((_, index) => `$${index + 1}`)
      sql = `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')}) ${conflict}`
    }
    return run(
      sql,
      columns.map((it) => row[it] as Value),
    )
  }
}

type Complete<R, Listed> = [Exclude<keyof R, Listed>] extends [never]
  ? unknown
  : { readonly 'the update lacks': Exclude<keyof R, Listed> }

/**
 * Creates an operation that updates columns of one row by key. It does not compile if the list lacks a column of `R`
 * that is neither in the key nor in `Kept`.
 * @template Kept columns that the operation leaves as they are
 */
export const updating =
  <R extends object, Kept extends keyof R>() =>
  <const Key extends keyof R & string, const Column extends Exclude<keyof R, Kept> & string>(
    table: string,
    key: readonly Key[],
    columns: readonly Column[] & Complete<R, Kept | Key | Column>,
  ): ((row: R) => Op<number>) => {
    const all: readonly (keyof R)[] = [...key, ...columns]
    const equal = (names: readonly string[], from: number) => names.map((it, index) => `${it} = $${from + index}`)
    const sets = equal(columns, key.length + 1).join(', ')
    const sql = `update ${table} set ${sets} where ${equal(key, 1).join(' and ')}`
    return (row) =>
      run(
        sql,
        all.map((it) => row[it] as Value),
      )
  }

export function* lock(subject: string): Op<void> {
  yield { kind: 'lock', subject }
}

type Results<Ops> = { [Index in keyof Ops]: Ops[Index] extends Op<infer T> ? T : never }

/** Interleaves operations: runs each operation to its next statement, then sends all statements in one round trip. */
export function* interleave<const Ops extends readonly Op<unknown>[]>(...ops: Ops): Op<Results<Ops>> {
  const steps = ops.map((op) => op.next())
  for (;;) {
    const pending: number[] = []
    const statements: Statement[] = []
    for (let index = 0; index < ops.length; index++) {
      let step = steps[index] as IteratorResult<Step, unknown>
      // Yield other steps (locks, notices, several statements) one at a time.
      while (!step.done && !('sql' in step.value)) step = (ops[index] as Op<unknown>).next(yield step.value)
      steps[index] = step
      if (step.done) continue
      pending.push(index)
      statements.push(step.value as Statement)
    }
    if (pending.length === 0) return steps.map((step) => step.value) as Results<Ops>
    const results = (yield { kind: 'several', statements }) as unknown[]
    for (let n = 0; n < pending.length; n++) {
      const index = pending[n] as number
      steps[index] = (ops[index] as Op<unknown>).next(results[n])
    }
  }
}

/** Notifies the listeners of the store of `subject` after the commit. */
export function* notify(subject: string): Op<void> {
  yield { kind: 'notify', subject }
}
