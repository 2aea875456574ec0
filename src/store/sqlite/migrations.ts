import { initial } from '../migrations/0001-initial.js'

/**
 * Tables with millions of long rows keep their rowid: without one SQLite stores whole rows in the inner pages too,
 * about ten per page, which makes the tree six or seven levels deep.
 */
const rows = ' strict'
const byKey = ' strict, without rowid'

/** Migrations in order; user_version is the number that have run. Never change a released one. */
export const migrations: readonly string[] = [
  initial({ key: 'text', int64: 'integer', rows, byKey, busyRows: rows, busyByKey: byKey }),
]
