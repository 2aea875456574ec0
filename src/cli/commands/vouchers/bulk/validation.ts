import { createHash } from 'node:crypto'
import { duplicateFinder } from './input/duplicates.js'
import type { BulkInput } from './input/input.js'
import { readRows } from './input/read-rows.js'
import type { BadRow, Row } from './input/row.js'
import { isBad } from './input/row.js'

/** What a file holds, known before its first voucher is issued. */
export interface Survey {
  readonly rows: number
  readonly bad: number
  /** Of its bytes, in hex. */
  readonly sha256: string
  /** For a dry run. */
  readonly first: Row | undefined
}

/** Reads a whole file without keeping it. @throws UnreadableInput */
export async function survey(
  input: BulkInput,
  onBad: (row: BadRow) => Promise<void>,
  signal: AbortSignal,
): Promise<Survey> {
  const sum = createHash('sha256')
  async function* summed() {
    for await (const chunk of input.chunks()) {
      sum.update(chunk)
      yield chunk
    }
  }
  const check = duplicateFinder()
  let [rows, bad] = [0, 0]
  let first: Row | undefined
  for await (const block of readRows(summed(), input.format)) {
    if (signal.aborted) break
    for (const read of block) {
      const row = check(read)
      rows += 1
      if (isBad(row)) {
        bad += 1
        await onBad(row)
      } else first ??= row
    }
  }
  return { rows, bad, sha256: sum.digest('hex'), first }
}
