import type { Defect } from '../faults/defects.js'

/** A deliberate bug that simulations must find; see defects.js. */
export type PlantedDefect = Pick<Defect, 'name' | 'file' | 'from' | 'to'>
export const defects: readonly PlantedDefect[]
