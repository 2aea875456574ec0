import { initial } from '../migrations/0001-initial.js'

/**
 * Tables of millions of long rows have a rowid: without one SQLite keeps whole rows in the inner pages of the tree too,
 * ten to a page, and they lie under six or seven levels.
 */
const rows = ' strict'
const byKey = ' strict, without rowid'

/** In their order; user_version is how many have run. Forward only: a released one never changes. */
export const migrations: readonly string[] = [
  initial({ key: 'text', int64: 'integer', rows, byKey, busyRows: rows, busyByKey: byKey }),
]
