import process from 'node:process'

interface MigrationReport {
  /** Without a password. */
  readonly database: string
  /** How many migrations it has had, and has now (in a dry run: would have). */
  readonly from: number
  readonly to: number
  readonly applied: boolean
  readonly steps: readonly { readonly name: string; readonly sql: string }[]
}

/**
 * Brings the schema of a PostgreSQL database up to date, as every start of a server does.
 * @throws an error with a `code`: STORE_UNUSABLE, DATABASE_UNREACHABLE
 */
export async function migrateDatabase(databaseUrl: string, dryRun: boolean): Promise<MigrationReport> {
  const { connectionOf } = await import('../../store/postgres/settings.js')
  const { migratePostgres } = await import('../../store/postgres/migrate.js')
  const { config, name } = await connectionOf({ url: databaseUrl, env: process.env })
  const { from, to, steps } = await migratePostgres(config, name, dryRun)
  return { database: name, from, to, applied: !dryRun, steps }
}
