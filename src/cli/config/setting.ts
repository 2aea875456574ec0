import { type Failure, fail } from '../failures/failure.js'

/** A setting's value and where it comes from; `profile show --explain` prints both. */
export interface Setting<T> {
  readonly value: T
  readonly source: string
}

/** True if the value comes from a flag or an environment variable. */
export const isGivenForCall = ({ source }: Setting<unknown>): boolean => /^(flag|environment) /.test(source)

/** Returns the first candidate whose value is defined. */
export function first<T>(...candidates: readonly [value: T | undefined, source: string][]): Setting<T> | undefined {
  for (const [value, source] of candidates) if (value !== undefined) return { value, source }
  return undefined
}

export const byDefault = <T>(value: T): Setting<T> => ({ value, source: 'default' })

/** Names of the project file and the profile, the sources of settings besides flags and environment. */
export interface SettingSources {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectSource: string
  readonly profileSource: string
}

/** Resolves one setting in the order flag > environment > project file > profile. */
export function choose<T>(
  { env, projectSource, profileSource }: SettingSources,
  [flag, name]: readonly [value: T | undefined, name: string],
  variable: string | undefined,
  ofProject: unknown,
  ofProfile: unknown,
): Setting<T> | undefined {
  return first<unknown>(
    [flag, `flag --${name}`],
    [(variable && env[variable]) || undefined, `environment ${variable}`],
    [ofProject, projectSource],
    [ofProfile, profileSource],
  ) as Setting<T> | undefined
}

export const invalid = (name: string, { source }: Setting<unknown>, rule: string): Failure =>
  fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)
