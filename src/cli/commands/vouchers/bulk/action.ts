import type { Endpoint } from '../../../../contract/endpoint.js'
import { valueAt } from '../../../output/select-fields.js'
import type { InputRow, RowMembers } from './input/row.js'
import type { Counters } from './show-progress.js'

/** Values of a flag that every row of a run shares, such as the template; --resume requires the same ones. */
export type Parameters = Readonly<Record<string, string | null>>

export type ResultLine = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Value of a column. Members of `data`, the result of the call, may be missing, because responses are not validated. */
type ColumnValue = (data: unknown, row: InputRow) => ResultLine[string]

/** A column with the text at a path of the result, such as `voucher.status`; null if it is missing or no text. */
export const textAt =
  (path: string): ColumnValue =>
  (data) => {
    const value = valueAt(data, path)
    return typeof value === 'string' ? value : null
  }

/** A column that repeats a value of the input row. */
export const ofRow =
  (name: string): ColumnValue =>
  (_data, { values }) =>
    values[name]

/** Columns of the results file in CSV, and member names in NDJSON. */
export const resultColumnsOf = ({ columns }: Pick<BulkAction, 'columns'>) => ['line', ...Object.keys(columns)]

/** What a bulk command does with a row, as data, so that no module of a run is loaded for help. */
export interface BulkAction {
  readonly name: string
  /** The verb of a row in its forms; `done` is also the name of its counter. */
  readonly words: {
    readonly verb: string
    readonly gerund: string
    readonly done: string
    /** What a row is about, such as `voucher`. */
    readonly noun: string
    /** What is true of a row after its call, in the singular and the plural. */
    readonly state: readonly [string, string]
  }
  readonly endpoint: Endpoint
  readonly rows: RowMembers
  /** True for redeem-many, which on some servers knows a mistyped code without a call. */
  readonly checksCodes?: true
  /** True if the idempotency keys contain the run id: the same row in another run is another action. */
  readonly isKeyedByRun: boolean
  /** Texts whose hash identifies the row; undefined for a line of results without its credential. */
  keyParts(values: InputRow['values'], run: string, parameters: Parameters): readonly unknown[] | undefined
  input(row: InputRow, parameters: Parameters): Readonly<Record<string, unknown>>
  /** Columns of the results file after the line number, with their values. The journal repeats the column `id`. */
  readonly columns: Readonly<Record<string, ColumnValue>>
  readonly id: 'voucher_id' | 'redemption_id'
  /** Columns of the errors file between the line number and the failure. */
  readonly errorIds: readonly string[]
  /** Refusals that every other row would get too, so that they end the run. */
  readonly runFailures: readonly string[]
  /** Refusals that are a result of the row, with the code as its `reason`. */
  readonly findings?: readonly string[]
  /** Column of the results whose values are counted in the summary, also those of an earlier run. */
  readonly tally?: string
  /** Further members of the summary. */
  summarise?(counters: Counters): Readonly<Record<string, unknown>>
}
