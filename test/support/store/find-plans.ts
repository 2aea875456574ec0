import { find } from '../../../src/store/find.js'
import type { Value } from '../../../src/store/operation.js'
import { statementsOf } from './store-steps.js'

/** Lines of an engine's plan for a statement: `explain query plan` of SQLite, `explain` of PostgreSQL. */
export type Explain = (sql: string, params: readonly Value[]) => Promise<readonly string[]>

const credential = { type: 'redeem_code', hashes: ['r1'] } as const
const token = { type: 'qr_token', hashes: ['q1'] } as const

/** SQLite scans every row or every entry of an index. A search reads only the ids of the applications (`a`) so. */
const SQLITE_SCAN = /^SCAN (?!a\b)/
/** PostgreSQL reads every row, or every entry of an index. Few applications and bots may be read so. */
const readsAll = (line: string, next = '') =>
  /Seq Scan on (?!applications\b|bots\b)/.test(line) ||
  (/Index (?:Only )?Scan .*on (?!applications\b|bots\b)/.test(line) && !next.includes('Index Cond'))

/**
 * Explains the statements of a search that must find a record however many there are.
 * @returns the statements that read whole tables or indexes, with their plans
 */
export async function fullScansOfFind(explain: Explain): Promise<readonly string[]> {
  const step = find('user1', [credential, token]).next().value
  if (!('kind' in step)) throw new Error('The search yields no statement.')
  // The statements without parameters compare names in the newest rows.
  const statements = statementsOf(step).filter((it) => it.params.length > 0)
  const scans: string[] = []
  for (const { sql, params } of statements) {
    const lines = await explain(sql, params)
    const isScan = lines.some((it, at) => SQLITE_SCAN.test(it) || readsAll(it, lines[at + 1]))
    if (isScan) scans.push([sql, ...lines].join('\n'))
  }
  return scans
}
