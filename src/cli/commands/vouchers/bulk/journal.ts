// The journal of `vouchers issue-many`, which lets a later run continue (DECISIONS.md#journal-of-issue-many).
import { parseLine, readLines, withSum } from '../../../../files/summed-lines.js'

/** Identifies a run without secrets; --resume continues only a run with the same identity. */
export interface RunIdentity {
  readonly template: string
  /** Base URL of the server. */
  readonly server: string
  /** SHA-256 of the input file; null for a pipe, whose rows are recognised only by their idempotency keys. */
  readonly input_sha256: string | null
}

/** Outcome of a row: a voucher, whose line in the results file ends at byte `end`, or a failure. */
type JournalEntry =
  | { readonly line: number; readonly key: string; readonly voucher_id: string | null; readonly end: number }
  | { readonly line: number; readonly key?: string; readonly code: string }

const PROGRAM = 'voucherctl vouchers issue-many'
const VERSION = 1

export const encodeHeader = (identity: RunIdentity) => withSum({ journal: PROGRAM, version: VERSION, ...identity })

export const encodeEntry = (entry: JournalEntry) => withSum(entry)

export interface LoadedJournal {
  /** Identity from the first line; undefined if that line is damaged or of another version, see `problem`. */
  readonly identity: RunIdentity | undefined
  readonly problem: 'damaged' | 'another version' | undefined
  /** Idempotency keys of the rows that have got their voucher. */
  readonly done: Set<string>
  /** Line numbers of the damaged lines. */
  readonly damaged: readonly number[]
  /** Offset in the journal after its last complete line. */
  readonly end: number
  /** Offset in the results file up to which the journal lists the vouchers. */
  readonly resultsEnd: number
}

/**
 * Reads a journal up to its last complete line and skips damaged lines. A row whose journal line is incomplete is
 * requested again with the same idempotency key.
 * @throws errors of the file system
 */
export function loadJournal(path: string): LoadedJournal {
  const done = new Set<string>()
  const damaged: number[] = []
  let identity: RunIdentity | undefined
  let [end, resultsEnd] = [0, 0]
  for (const { number, offset, bytes, isTorn } of readLines(path)) {
    const value = isTorn ? undefined : parseLine(bytes)
    if (number === 1) identity = value === undefined ? undefined : identityOf(value)
    if (identity === undefined) {
      const problem = value === undefined ? 'damaged' : 'another version'
      return { identity, problem, done, damaged, end, resultsEnd }
    }
    if (value === undefined) {
      if (!isTorn) damaged.push(number)
      continue
    }
    if (typeof value.key === 'string' && typeof value.end === 'number') {
      done.add(value.key)
      resultsEnd = value.end
    }
    end = offset + bytes.length + 1
  }
  return { identity, problem: undefined, done, damaged, end, resultsEnd }
}

function identityOf(header: Record<string, unknown>): RunIdentity | undefined {
  const { journal, version, template, server, input_sha256 } = header
  if (journal !== PROGRAM || version !== VERSION) return undefined
  if (typeof template !== 'string' || typeof server !== 'string') return undefined
  return { template, server, input_sha256: typeof input_sha256 === 'string' ? input_sha256 : null }
}
