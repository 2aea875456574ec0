import { initial } from '../migrations/0001-initial.js'
import { botCounts, sqliteTriggers } from '../migrations/0002-bot-counts.js'
import { webhookLeases } from '../migrations/0003-webhook-leases.js'
import { botsByAge } from '../migrations/0004-bots-by-age.js'

/**
 * Tables with millions of long rows have a rowid: without it SQLite stores whole rows in the inner pages too,
 * about ten per page, which makes the tree six or seven levels deep.
 */
const rows = ' strict'
const byKey = ' strict, without rowid'
const dialect = { key: 'text', int64: 'integer', rows, byKey, busyRows: rows, busyByKey: byKey }

/** Migrations in order; user_version is the number of completed ones. Never change a released migration. */
export const migrations: readonly string[] = [
  initial(dialect),
  botCounts(dialect, `, primary key (bot_id, kind, block))${byKey}`) + sqliteTriggers,
  webhookLeases(dialect),
  botsByAge,
]
