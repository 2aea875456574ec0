import type { Random } from './random.js'
import type { Sometimes } from './sometimes.js'

export interface Run {
  /** Run the short form of the campaign, as for every change, instead of the long form. */
  readonly quick: boolean
  /** Factor of all time limits: the short form runs beside other work, the long form on a quiet machine. */
  readonly patience: number
  /** Random numbers from the seed and the name of the campaign. */
  readonly random: Random
  /** An empty folder on disk that is deleted after the campaign unless an invariant was broken. */
  readonly folder: string
  /** Root of the checkout. */
  readonly root: string
  /** Counts the states that the campaign reaches. */
  readonly sometimes: Sometimes
  /** Shows progress on a terminal. */
  say(line: string): void
}

/** Counts and measurements of a campaign, by a short name that includes the unit. */
export type Facts = Readonly<Record<string, number | string>>

export type Result =
  | { readonly facts: Facts; readonly broken: readonly string[] }
  /** The reason why this machine cannot run the campaign. */
  | { readonly skipped: string }

export interface Campaign {
  /** Short id for --only, such as R1; parts of a campaign share it. */
  readonly row: string
  readonly name: string
  /** Ids of the rules that the campaign holds. evidence/proofs.js reads `name`, `tags` and `requirement` as literals. */
  readonly tags: readonly string[]
  /** The fault, and what must hold. */
  readonly requirement: string
  /** States that the long form must reach; in the short form, chance may miss some. */
  readonly states?: readonly string[]
  run(run: Run): Promise<Result>
}

/** Text with the median and the maximum of durations in whole milliseconds. */
export function spread(durations: readonly number[]): string {
  if (durations.length === 0) return 'none'
  const sorted = durations.toSorted((a, b) => a - b).map(Math.round)
  return `${sorted[Math.floor(sorted.length / 2)]} ms, at most ${sorted.at(-1)} ms`
}
