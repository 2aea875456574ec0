import { hash } from 'node:crypto'
import { Fingerprints } from '../fingerprints.js'
import type { ReadRow } from './row.js'
import { isBad } from './row.js'

/**
 * Marks rows that repeat the external_issue_id of an earlier row: the id is unique for each issuance
 * (DECISIONS.md#rows-of-issue-many).
 */
export function duplicateFinder(): (row: ReadRow) => ReadRow {
  const seen = new Fingerprints()
  return (row) => {
    if (isBad(row)) return row
    const digest = hash('sha256', row.external_issue_id, 'buffer')
    const first = seen.add(digest, row.line)
    if (first === undefined) return row
    const { metadata: _metadata, ...ids } = row
    return { ...ids, fault: { code: 'DUPLICATE', message: `has the external_issue_id of line ${first}` } }
  }
}
