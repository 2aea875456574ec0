import type { Random } from './random.js'

export interface Run {
  /** The short form, for every change; otherwise the long one. */
  readonly quick: boolean
  /** Of this campaign alone: the same choices for the same seed. */
  readonly random: Random
  /** Empty, on disk; removed afterwards unless an invariant was broken. */
  readonly folder: string
  /** The checkout. */
  readonly root: string
  /** What goes on meanwhile, for a person. */
  say(line: string): void
}

/** What was counted or measured, by a short name with its unit. */
export type Facts = Readonly<Record<string, number | string>>

export type Result =
  | { readonly facts: Facts; readonly broken: readonly string[] }
  /** Why this machine cannot run it. */
  | { readonly skipped: string }

export interface Campaign {
  /** Row of the budgets. */
  readonly row: string
  readonly name: string
  run(run: Run): Promise<Result>
}

/** Middle and greatest of some durations, whole milliseconds. */
export function spread(durations: readonly number[]): string {
  if (durations.length === 0) return 'none'
  const sorted = durations.toSorted((a, b) => a - b).map(Math.round)
  return `${sorted[Math.floor(sorted.length / 2)]} ms, at most ${sorted.at(-1)} ms`
}
