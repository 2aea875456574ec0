import process from 'node:process'
import type { Durability } from '../../store/postgres/durability.js'

export type MigrationReport = Awaited<ReturnType<typeof migrateDatabase>>

/**
 * Migrates the schema of a PostgreSQL database, which every server start does too. Returns the schema version before and
 * after; for a dry run, `to` is the version that the migration would reach.
 * @throws an error with a `code`: STORE_UNUSABLE, DATABASE_UNREACHABLE
 */
export async function migrateDatabase(databaseUrl: string, dryRun: boolean) {
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
