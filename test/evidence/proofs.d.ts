/** A test, a campaign or a portion of mutation tests that holds a rule. */
export interface Tagged {
  /** Id of the rule. */
  readonly rule: string
  readonly name: string
  /** Path from the root. */
  readonly file: string
  readonly isSkipped: boolean
  /** Fault and requirement of a campaign. */
  readonly requirement?: string
}

export const PROBES: string
export function commandOf(path: string): string
export function readTagged(): readonly Tagged[]
export function taggedIn(file: string, source: string): readonly Tagged[]
