import { type Failure, fail } from '../failure.js'

/** A value and the place that it came from, for `profile show --explain`. */
export interface Sourced<T> {
  readonly value: T
  readonly source: string
}

/** True for a value that a flag or an environment variable gives. */
export const isGivenForCall = ({ source }: Sourced<unknown>): boolean => /^(flag|environment) /.test(source)

/** The first defined candidate. */
export function first<T>(...candidates: readonly [value: T | undefined, source: string][]): Sourced<T> | undefined {
  for (const [value, source] of candidates) if (value !== undefined) return { value, source }
  return undefined
}

export const byDefault = <T>(value: T): Sourced<T> => ({ value, source: 'default' })

/** The places of settings beside the flags. */
export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectSource: string
  readonly profileSource: string
}

/** The value of one setting: flag > environment > project file > profile. */
export function choose<T>(
  { env, projectSource, profileSource }: Places,
  [flag, name]: readonly [value: T | undefined, name: string],
  variable: string | undefined,
  ofProject: unknown,
  ofProfile: unknown,
): Sourced<T> | undefined {
  return first<unknown>(
    [flag, `flag --${name}`],
    [(variable && env[variable]) || undefined, `environment ${variable}`],
    [ofProject, projectSource],
    [ofProfile, profileSource],
  ) as Sourced<T> | undefined
}

export const invalid = (name: string, { source }: Sourced<unknown>, rule: string): Failure =>
  fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)
