import type { Triggers } from '../snapshots.js'
import type { SqliteDatabase } from './engine.js'

export function triggersOf(db: SqliteDatabase): Triggers {
  const found = db.prepare("select name, sql from main.sqlite_master where type = 'trigger'").all()
  const triggers = found as { name: string; sql: string }[]
  return { off: triggers.map(({ name }) => `drop trigger main."${name}"`), on: triggers.map(({ sql }) => sql) }
}
