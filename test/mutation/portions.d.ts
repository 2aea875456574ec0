/** Source files, or folders without their subfolders, with the tests that must notice a mutant; see portions.js. */
export interface Portion {
  readonly name: string
  /** Ids of rules that the code decides. */
  readonly tags: readonly string[]
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  /** True if the tests run on PostgreSQL instead of SQLite. */
  readonly onPostgres?: boolean
}
export const portions: readonly Portion[]
