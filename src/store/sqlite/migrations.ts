import { sqliteTriggers } from '../migrations/0002-bot-counts.js'
import { migrationsFor } from '../migrations/index.js'

/**
 * Tables with millions of long rows have a rowid: without it SQLite stores whole rows in the inner pages too,
 * about ten per page, which makes the tree six or seven levels deep.
 */
const rows = ' strict'
const byKey = ' strict, without rowid'

/** The schema version is user_version. */
export const migrations = migrationsFor({
  key: 'text',
  int64: 'integer',
  rows,
  byKey,
  busyRows: rows,
  busyByKey: byKey,
  own: '',
  counts: `, primary key (bot_id, kind, block))${byKey}`,
  countTriggers: sqliteTriggers,
})
