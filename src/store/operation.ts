/** A value that a statement takes or answers on every engine. Times are integers (ms), flags 0 or 1, hashes text. */
export type Value = string | number | null

export type Row = Readonly<Record<string, Value>>

/**
 * One SQL statement that every engine speaks, with `$1` parameters. `lock` asks an engine with concurrent
 * writers to lock what the statement reads: `row` waits, `skip` leaves out rows that others hold.
 */
export interface Statement {
  readonly kind: 'one' | 'all' | 'run'
  readonly sql: string
  readonly params: readonly Value[]
  readonly lock?: 'row' | 'skip'
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
 * A store operation: a generator that yields statements and receives their results. It cannot await anything
 * else, so the same operation runs synchronously inside SQLite and awaited on a server database.
 */
export type Op<T> = Generator<Statement | Notice, T, unknown>

/** The first row, or undefined. */
export function* one<R = Row>(sql: string, params: readonly Value[] = [], lock?: 'row' | 'skip'): Op<R | undefined> {
  return (yield lock === undefined ? { kind: 'one', sql, params } : { kind: 'one', sql, params, lock }) as R | undefined
}

/** As `one`, for a row that may be kept between reads; it is never stale. */
export function* oneKept<R = Row>(sql: string, params: readonly Value[]): Op<Readonly<R> | undefined> {
  return (yield { kind: 'one', sql, params, keep: true }) as Readonly<R> | undefined
}

/** All rows. */
export function* all<R = Row>(sql: string, params: readonly Value[] = [], lock?: 'row' | 'skip'): Op<R[]> {
  return (yield lock === undefined ? { kind: 'all', sql, params } : { kind: 'all', sql, params, lock }) as R[]
}

/** How many rows changed. */
export function* run(sql: string, params: readonly Value[] = []): Op<number> {
  return (yield { kind: 'run', sql, params }) as number
}

/** Wakes who waits for something of `subject`, once this operation's work is committed. */
export function* notify(subject: string): Op<void> {
  yield { kind: 'notify', subject }
}
