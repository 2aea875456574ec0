import type { Failure } from '../failure.js'
import type { List } from './fields.js'

/** How to print a result in the table format; other formats print the data. */
export interface View<Data> {
  /** A sentence above the result, or each line of a stream. */
  readonly headline?: (data: Data) => string | undefined
  /** Members of the record, or columns of `items`, in this order. Default: all. */
  readonly members?: readonly string[]
  /** Text that replaces the members. */
  readonly body?: (data: Data) => string
  /** A member that no later response contains, and a remedy if `--fields` leaves it out. */
  readonly shownOnce?: { readonly member: string; readonly otherwise: string }
  /** A sentence about the next step, printed to stderr of a terminal. */
  readonly next?: (data: Data) => string | undefined
}

export interface Result<Data> {
  readonly ok: true
  readonly data: Data
  /** Exit code of a success on which scripts branch; default 0. */
  readonly exit?: number
  /** True if a command that can change something only read this time. */
  readonly reads?: true
  /** True for a replay: the server returned the response of an earlier call. */
  readonly replayed?: true
}

/** A list as a stream of pages, for flat memory. The generator returns a failure if pages are missing. */
interface Pages {
  readonly ok: true
  readonly pages: AsyncGenerator<List, Failure | undefined>
}

/** A stream of documents, one per line. The generator returns a failure if documents are missing. */
export interface Lines<Data> {
  readonly ok: true
  readonly lines: AsyncGenerator<Data, Failure | undefined>
}

/** The result of a dry run. */
export interface Plan {
  readonly ok: false
  readonly plan: readonly unknown[]
}

/** The command has printed the result itself. */
interface PrintedResult {
  readonly ok: true
  readonly printed: true
  readonly exit?: number
}

export type Outcome<Data> = Result<Data> | Pages | Lines<Data> | PrintedResult | Plan | Failure
