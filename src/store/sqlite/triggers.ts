import type { SqliteDatabase } from './engine.js'

/**
 * Runs `work` without the triggers of the schema, inside a transaction. A trigger that follows changes, such as one that
 * counts rows, would run for each row of a copy, although its own table is copied as well.
 */
export function withoutTriggers(db: SqliteDatabase, work: () => void): void {
  const triggers = db.prepare("select name, sql from main.sqlite_master where type = 'trigger'").all()
  for (const { name } of triggers as { name: string }[]) db.exec(`drop trigger main."${name}"`)
  work()
  for (const { sql } of triggers as { sql: string }[]) db.exec(sql)
}
