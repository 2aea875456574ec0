/** A deliberate bug that simulations must find: one replacement in a source file; see defects.js. */
export interface PlantedDefect {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}
export const defects: readonly PlantedDefect[]
