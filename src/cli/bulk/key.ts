import { hash } from 'node:crypto'
import type { BulkAction, Parameters } from './action.js'
import type { InputRow } from './input/row.js'

/**
 * Derives the key of a row, which the journal records and, if the endpoint is idempotent, the call sends. It is the
 * same in each run with the same run id, so that a retry after a lost response repeats nothing.
 */
export function keyOf(
  { name, keyParts }: Pick<BulkAction, 'name' | 'keyParts'>,
  values: InputRow['values'],
  run: string,
  parameters: Parameters,
): string | undefined {
  const parts = keyParts(values, run, parameters)
  return parts && `${name}-${hash('sha256', JSON.stringify([name, ...parts]), 'base64url')}`
}
