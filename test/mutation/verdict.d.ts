import type { Equivalent } from './equivalents.js'

/** A mutant of Stryker's report: a change of a part of the source, and whether a test noticed it. */
export interface Mutant {
  readonly mutatorName: string
  readonly replacement: string
  readonly status: string
  readonly location: { readonly start: Place; readonly end: Place }
}

/** Line and column, both from 1. */
interface Place {
  readonly line: number
  readonly column: number
}

export interface Verdict {
  /** Descriptions of surviving mutants and stale entries. */
  readonly lines: readonly string[]
  readonly counts: { readonly all: number; readonly killed: number; readonly listed: number; readonly alive: number }
  readonly failed: boolean
}

export function compare(
  files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>,
  equivalents: Readonly<Record<string, readonly Equivalent[]>>,
  whole: boolean,
): Verdict
