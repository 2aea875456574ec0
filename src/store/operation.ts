/** A value that a statement takes or answers on every engine. Times are integers (ms), flags 0 or 1, hashes text. */
export type Value = string | number | null

export type Row = Readonly<Record<string, Value>>

/** `row` waits for the rows, `skip` leaves out those that others hold; `skipOf` names one table of several. */
export type RowLock = 'row' | 'skip' | { readonly skipOf: string }

/**
 * One SQL statement that every engine speaks, with `$1` parameters. `lock` asks an engine with concurrent
 * writers to lock what the statement reads.
 */
export interface Statement {
  readonly kind: 'one' | 'all' | 'run'
  readonly sql: string
  readonly params: readonly Value[]
  readonly lock?: RowLock
  /** True for a `one` that writes and answers what it wrote. */
  readonly changes?: true
  /** For a row that nearly every call reads and hardly any writes: an engine that is the only writer may keep it. */
  readonly keep?: true
}

/** Told to those who listen to the store, after the commit that holds the operation's work, and only then. */
export interface Notice {
  readonly kind: 'notify'
  /** The id of what has changed. */
  readonly subject: string
}

/**
 * Until the end of the transaction, no other operation passes its own lock of the same subject: for rules about rows
 * that are not there yet, such as how many an account may have. The only writer of a database needs none.
 */
export interface SubjectLock {
  readonly kind: 'lock'
  readonly subject: string
}

/** Statements none of which needs the answer to another: done in this order, in one round trip where there are any. */
export interface Several {
  readonly kind: 'several'
  readonly statements: readonly Statement[]
}

/** What an operation yields. It receives the result; nothing for a notice or a lock, a list for several statements. */
export type Step = Statement | Several | Notice | SubjectLock

/**
 * A store operation: a generator that yields statements and receives their results. It cannot await anything
 * else, so the same operation runs synchronously inside SQLite and awaited on a server database.
 */
export type Op<T> = Generator<Step, T, unknown>

/** An operation that waits for its turn, and its caller. */
export interface Pending {
  readonly op: () => Op<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Thrown by an operation that finds at its end that another one came first. Its transaction is rolled back and it
 * runs anew, so that it sees what the other has left. Where there is one writer it cannot happen.
 */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

export function* one<R = Row>(sql: string, params: readonly Value[] = [], lock?: RowLock): Op<R | undefined> {
  return (yield lock === undefined ? { kind: 'one', sql, params } : { kind: 'one', sql, params, lock }) as R | undefined
}

/** As `one`, for a row that may be kept between reads; it is never stale. */
export function* oneKept<R = Row>(sql: string, params: readonly Value[]): Op<Readonly<R> | undefined> {
  return (yield { kind: 'one', sql, params, keep: true }) as Readonly<R> | undefined
}

export function* all<R = Row>(sql: string, params: readonly Value[] = [], lock?: RowLock): Op<R[]> {
  return (yield lock === undefined ? { kind: 'all', sql, params } : { kind: 'all', sql, params, lock }) as R[]
}

/** How many rows changed. */
export function* run(sql: string, params: readonly Value[] = []): Op<number> {
  return (yield { kind: 'run', sql, params }) as number
}

/** One statement with each of the lists of parameters, in one round trip where there are any. */
export function* runEach(sql: string, lists: readonly (readonly Value[])[]): Op<void> {
  if (lists.length > 0) yield { kind: 'several', statements: lists.map((params) => ({ kind: 'run', sql, params })) }
}

/** Writes one row with `returning`, and answers what was returned. */
export function* change<R = Row>(sql: string, params: readonly Value[]): Op<R | undefined> {
  return (yield { kind: 'one', sql, params, changes: true }) as R | undefined
}

/** How many rows there are. @param from `tokens where application_id = $1` */
export function* count(from: string, params: readonly Value[]): Op<number> {
  const counted = yield* one<{ n: number }>(`select count(*) as n from ${from}`, params)
  return Number(counted?.n)
}

/**
 * Makes the operation that inserts a row, whose members are the columns; it returns how many rows were inserted.
 * @param conflict such as `on conflict do nothing`
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

/** Makes the operation that writes some columns of a row, which it finds by its key. */
export function updating<R extends object>(
  table: string,
  key: readonly (keyof R & string)[],
  columns: readonly (keyof R & string)[],
): (row: R) => Op<number> {
  const all = [...key, ...columns]
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

/** Runs operations side by side, each as far as its next statement, which go out together. */
export function* together<const Ops extends readonly Op<unknown>[]>(...ops: Ops): Op<Results<Ops>> {
  const steps = ops.map((op) => op.next())
  for (;;) {
    const asking: number[] = []
    const statements: Statement[] = []
    for (let index = 0; index < ops.length; index++) {
      let step = steps[index] as IteratorResult<Step, unknown>
      // Whatever is no single statement goes by itself.
      while (!step.done && !('sql' in step.value)) step = (ops[index] as Op<unknown>).next(yield step.value)
      steps[index] = step
      if (step.done) continue
      asking.push(index)
      statements.push(step.value as Statement)
    }
    if (asking.length === 0) return steps.map((step) => step.value) as Results<Ops>
    const answers = (yield { kind: 'several', statements }) as unknown[]
    for (let n = 0; n < asking.length; n++) {
      const index = asking[n] as number
      steps[index] = (ops[index] as Op<unknown>).next(answers[n])
    }
  }
}

/** Wakes who waits for something of `subject`, once this operation's work is committed. */
export function* notify(subject: string): Op<void> {
  yield { kind: 'notify', subject }
}
