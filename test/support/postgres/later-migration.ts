import { onTestFinished } from 'vitest'
import type { Migration } from '../../../src/store/migrations/index.js'
import { migrations as onPostgres } from '../../../src/store/postgres/migrations.js'
import { migrations as onSqlite } from '../../../src/store/sqlite/migrations.js'

/** Adds a schema migration to both engines until the test ends, as if this were a later version. */
export function addLaterMigration(sql = 'alter table tokens add column note text'): void {
  const all = [onSqlite, onPostgres] as Migration[][]
  for (const it of all) it.push({ name: 'later', sql })
  onTestFinished(() => {
    for (const it of all) it.pop()
  })
}
