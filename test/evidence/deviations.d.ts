import type { Plugin } from 'vitest/config'
import type { Mistake } from '../support/planting.js'

/** A change of a source file that breaks a statement of a rule. */
export interface Deviation extends Omit<Mistake, 'name'> {
  /** File in deviations/ and position in it, such as `calls.txt:3`. */
  readonly id: string
  /** Id of the rule. */
  readonly rule: string
}

export function readDeviations(): readonly Deviation[]
export function planting(id: string): Plugin
