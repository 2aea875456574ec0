/** A value and the place that it came from, for `profile show --explain`. */
export interface Sourced<T> {
  readonly value: T
  readonly source: string
}

/** True for a value that a flag or an environment variable gives. */
export const isGivenForCall = ({ source }: Sourced<unknown>): boolean => /^(flag|environment) /.test(source)

/** The first that is there. */
export function first<T>(...candidates: readonly [value: T | undefined, source: string][]): Sourced<T> | undefined {
  for (const [value, source] of candidates) if (value !== undefined) return { value, source }
  return undefined
}
