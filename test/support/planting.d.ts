/** The folder of the project, with a slash at the end. */
export const root: string

/** A change of a source file that tests must notice. */
export interface Mistake {
  readonly name: string
  /** Path from the root. */
  readonly file: string
  readonly from: string
  readonly to: string
}

export function copyProject(parts: readonly string[]): string
export function readMistakes(path: string): readonly Mistake[]
export function replaceOnce(source: string, change: Omit<Mistake, 'name'>): string
