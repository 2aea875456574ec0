import type { Failure } from '../failure.js'
import type { List } from './fields.js'

/** How a result is shown to a person; every other format prints the data itself. */
export interface View<Data> {
  /** One sentence above: what happened; or each line of a stream. */
  readonly headline?: (data: Data) => string | undefined
  /** Members in this order: of the record, or the columns of `items`. Absent: all. */
  readonly members?: readonly string[]
  /** Text in place of the members. */
  readonly body?: (data: Data) => string
  /** A member that no later answer holds, and what to do when `--fields` leaves it out. */
  readonly shownOnce?: { readonly member: string; readonly otherwise: string }
  /** One sentence on stderr, on a terminal only: what comes next. */
  readonly next?: (data: Data) => string | undefined
}

export interface Result<Data> {
  readonly ok: true
  readonly data: Data
  /** Exit code when it is not 0: an answer that a script wants to branch on. */
  readonly exit?: number
  /** True where a command that may change something has only read this time. */
  readonly reads?: true
  /** True for a replay: the server returned the response of an earlier call. */
  readonly replayed?: true
}

/** A list page by page: so much of it is held that memory stays flat. At the end a failure when there should have been more. */
interface Pages {
  readonly ok: true
  readonly pages: AsyncGenerator<List, Failure | undefined>
}

/** Documents as they arrive, one a line; at the end a failure when there should have been more. */
export interface Lines<Data> {
  readonly ok: true
  readonly lines: AsyncGenerator<Data, Failure | undefined>
}

/** A dry run: what would have been done. */
export interface Plan {
  readonly ok: false
  readonly plan: readonly unknown[]
}

/** Everything was printed by the command itself, because it came bit by bit. */
interface Printed {
  readonly ok: true
  readonly printed: true
  readonly exit?: number
}

export type Outcome<Data> = Result<Data> | Pages | Lines<Data> | Printed | Plan | Failure
