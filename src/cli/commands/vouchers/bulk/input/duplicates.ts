import { hash } from 'node:crypto'
import { Fingerprints } from '../fingerprints.js'
import type { ReadRow } from './row.js'
import { isBad } from './row.js'

/**
 * Rows whose external_issue_id an earlier row of the same input has are faults: the id is unique for each issuance
 * (interface.md, Issue input).
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
