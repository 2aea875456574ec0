export interface PlantedDefect {
  readonly row: string
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}
export const defects: readonly PlantedDefect[]
