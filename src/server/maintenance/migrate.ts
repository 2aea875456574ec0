import process from 'node:process'
import type { Durability } from '../../store/postgres/durability.js'

export interface MigrationReport {
  /** Name of the database, without a password. */
  readonly database: string
  /** Schema version before and after; for a dry run, `to` is the version that the migration would reach. */
  readonly from: number
  readonly to: number
  readonly applied: boolean
  readonly steps: readonly { readonly name: string; readonly sql: string }[]
}

/**
 * Migrates the schema of a PostgreSQL database, which every server start does too.
 * @throws an error with a `code`: STORE_UNUSABLE, DATABASE_UNREACHABLE
 */
export async function migrateDatabase(databaseUrl: string, dryRun: boolean): Promise<MigrationReport> {
  const { connectionOf } = await import('../../store/postgres/settings.js')
  const { migratePostgres } = await import('../../store/postgres/migrate.js')
  const { config, name } = await connectionOf({ url: databaseUrl, env: process.env })
  const { from, to, steps } = await migratePostgres(config, name, dryRun)
  return { database: name, from, to, applied: !dryRun, steps }
}

/** Reads the settings of a PostgreSQL database. @throws an error with a `code`: STORE_UNUSABLE, DATABASE_UNREACHABLE */
export async function readDatabaseDurability(databaseUrl: string): Promise<Durability> {
  const { readDurability } = await import('../../store/postgres/durability.js')
  return readDurability({ url: databaseUrl, env: process.env })
}
