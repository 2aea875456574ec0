/** A rule of the rule book. */
export interface Rule {
  /** Anchor of its heading, and its number below it, such as `lists/2`. */
  readonly id: `${string}/${number}`
  /** File in src/contract/rules/. */
  readonly chapter: string
  readonly origin: 'specified' | 'decided'
  readonly text: string
}

export function anchorOf(heading: string): string
export function readRules(): readonly Rule[]
