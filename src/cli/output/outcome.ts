import type { Failure } from '../failures/failure.js'
import type { Screen, Times } from './screen.js'
import type { List } from './select-fields.js'

/** How to print a result as a table; other formats print the data itself. */
export interface View<Data> {
  /** A sentence above the result; in a stream, the whole line of a document. */
  readonly headline?: (data: Data) => string | undefined
  /** A line of a stream with its colours; every text in `data` has passed `plainLine`. It may throw a TypeError. */
  readonly line?: (data: Data, screen: Screen) => string
  /** Members of a record, or columns of a list, in this order. Default: all. */
  readonly members?: readonly string[]
  /** Returns a text that replaces the table of members. */
  readonly body?: (data: Data, times: Times) => string | undefined
  /** Returns a coloured text in place of `body`; it must pass every text of a server through `plainLine`. */
  readonly drawing?: (data: Data, screen: Screen) => string
  /** Whether the headline reports something good; it then has a mark and a colour. */
  readonly isGood?: (data: Data) => boolean
  /** Text for an empty list; says what was searched. */
  readonly empty?: string | undefined
  /** Member that --quiet prints alone; default `id`. */
  readonly key?: string
  /** A secret that the server shows only once, and a hint for the case that `--fields` omits it. */
  readonly shownOnce?: { readonly member: string; readonly otherwise: string }
  /** A sentence about the next step, printed to stderr if that is a terminal. */
  readonly next?: (data: Data) => string | undefined
}

export interface Result<Data> {
  readonly ok: true
  readonly data: Data
  /** Exit code of a success that scripts must distinguish; default 0. */
  readonly exit?: number
  /** Failure after the result was known, such as an unwritable report file; printed after the result. */
  readonly failure?: Failure | undefined
  /** True if a command that usually makes a change only read data this time. */
  readonly reads?: true
  /** Text printed for an empty list; replaces the `empty` text of the view. */
  readonly empty?: string | undefined
  /** True for a replay: the server returned its response to an earlier call. */
  readonly replayed?: true
}

/** A list as a stream of pages, to save memory. The generator returns a failure if pages are missing. */
interface Pages {
  readonly ok: true
  readonly pages: AsyncGenerator<List, Failure | undefined>
  readonly empty?: string | undefined
}

/** A stream of documents, printed one per line. The generator returns a failure if documents are missing. */
export interface Lines<Data> {
  readonly ok: true
  readonly lines: AsyncGenerator<Data, Failure | undefined>
}

/** What a dry run prints in place of a result: the changes that it would make. */
export interface Plan {
  readonly ok: false
  readonly plan: readonly unknown[]
}

/** Outcome of a command that has printed its result itself. */
interface PrintedResult {
  readonly ok: true
  readonly printed: true
  readonly exit?: number
  readonly failure?: Failure | undefined
}

export type Outcome<Data> = Result<Data> | Pages | Lines<Data> | PrintedResult | Plan | Failure
