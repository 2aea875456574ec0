/** One change that makes the project wrong; see defects.js. */
export interface Defect {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  readonly tests: readonly string[]
  readonly match?: string
  /** The vitest project, by default sqlite. */
  readonly project?: 'postgres'
}
export const defects: readonly Defect[]
