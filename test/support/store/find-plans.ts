import { find } from '../../../src/store/find.js'
import type { Value } from '../../../src/store/operation.js'
import { statementsOf } from './store-steps.js'

/** Lines of an engine's plan for a statement: `explain query plan` of SQLite, `explain` of PostgreSQL. */
export type Explain = (sql: string, params: readonly Value[]) => Promise<readonly string[]>

const credential = { type: 'redeem_code', hashes: ['r1'] } as const
const token = { type: 'qr_token', hashes: ['q1'] } as const

/** SQLite scans every row or every entry of an index. A search reads only the ids of the applications (`a`) so. */
const SQLITE_SCAN = /^SCAN (?!a\b)/
/** PostgreSQL reads every row, or searches an index that begins with the application without naming one. */
const POSTGRES_SCAN =
  /Seq Scan on (?!applications\b|bots\b)|using (?:vouchers|redemptions)_\S+(?:pkey|key) on .*\n\s+Index Cond: (?!.*application_id)/

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
    const isScan = POSTGRES_SCAN.test(lines.join('\n')) || lines.some((it) => SQLITE_SCAN.test(it))
    if (isScan) scans.push([sql, ...lines].join('\n'))
  }
  return scans
}
