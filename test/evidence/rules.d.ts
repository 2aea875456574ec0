/** A rule of the rule book. */
export interface Rule {
  /** Anchor of its heading, and its number below it, such as `lists/2`. */
  readonly id: `${string}/${number}`
  /** Title of its file in src/contract/rules/. */
  readonly chapter: string
  readonly origin: 'specified' | 'decided'
  readonly sentence: string
}

export function anchorOf(heading: string): string
export function readRules(): readonly Rule[]
