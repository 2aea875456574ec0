import type { Endpoint } from '../../contract/endpoint.js'
import { valueAt } from '../output/select-fields.js'
import type { InputRow, RowMembers } from './input/row.js'
import type { Counters } from './show-progress.js'

/** Values of flags that all rows of a run share, such as the template; --resume requires the same values. */
export type Parameters = Readonly<Record<string, string | null>>

export type ResultLine = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Value of a column. `data`, the result of the call, may lack members, because responses are not validated. */
type ColumnValue = (data: unknown, row: InputRow) => ResultLine[string]

/** A column with the text at a path of the result, such as `voucher.status`; null if the path has no text. */
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

/** Definition of a bulk command as data, so that help loads no module of a run. */
export interface BulkAction {
  readonly name: string
  /** Forms of the verb; `done` is also the name of the counter. */
  readonly words: {
    readonly verb: string
    readonly gerund: string
    readonly done: string
    /** Noun for the subject of a row, such as `voucher`. */
    readonly noun: string
    /** State of a row after its call, in the singular and the plural. */
    readonly state: readonly [string, string]
  }
  readonly endpoint: Endpoint
  readonly rows: RowMembers
  /** True for redeem-many, which can refuse mistyped codes of some servers without a call. */
  readonly checksCodes?: true
  /** True if the idempotency keys contain the run id: the same row in another run is another action. */
  readonly isKeyedByRun: boolean
  /** Texts whose hash identifies the row; undefined for a result line without its credential. */
  keyParts(values: InputRow['values'], run: string, parameters: Parameters): readonly unknown[] | undefined
  input(row: InputRow, parameters: Parameters): Readonly<Record<string, unknown>>
  /** Columns of the results file after the line number. The journal repeats the column `id`. */
  readonly columns: Readonly<Record<string, ColumnValue>>
  readonly id: 'voucher_id' | 'redemption_id'
  /** Columns of the errors file between the line number and the failure. */
  readonly errorIds: readonly string[]
  /** Refusals that all other rows would get too; they end the run. */
  readonly runFailures: readonly string[]
  /** Refusals that count as a result of the row, with the code as its `reason`. */
  readonly findings?: readonly string[]
  /** Result column whose values the summary counts, even for earlier runs. */
  readonly tally?: string
  /** Adds members to the summary. */
  summarise?(counters: Counters): Readonly<Record<string, unknown>>
}
