/** A deliberate bug: one replacement in a source file that tests must notice; see defects.js. */
export interface Defect {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  readonly tests: readonly string[]
  readonly match?: string
  /** The engine on which the tests run, by default SQLite. */
  readonly project?: 'postgres'
}
export const defects: readonly Defect[]
