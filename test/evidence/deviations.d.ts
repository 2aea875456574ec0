import type { Plugin } from 'vitest/config'

/** A change of a source file that breaks a statement of a rule. */
export interface Deviation {
  /** File in deviations/ and position in it, such as `calls.txt:3`. */
  readonly id: string
  /** Id of the rule. */
  readonly rule: string
  /** Path from the root. */
  readonly file: string
  readonly from: string
  readonly to: string
}

export function readDeviations(): readonly Deviation[]
export function planting(deviation: Deviation): Plugin
