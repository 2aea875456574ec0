// The journal of issue-many (DECISIONS.md#journal-of-issue-many).
import { parseLine, readLines, withSum } from '../../../../files/summed-lines.js'

/** Identity of a run without secrets; only a run with the same identity may continue it. */
export interface RunIdentity {
  readonly template: string
  /** Origin and path of the base URL. */
  readonly server: string
  /** SHA-256 of the input file; null for a pipe, whose rows are identified only by their keys. */
  readonly input_sha256: string | null
}

/** Result of a row: a voucher, whose line in the results ends at byte `end`, or a failure. */
type JournalEntry =
  | { readonly line: number; readonly key: string; readonly voucher_id: string | null; readonly end: number }
  | { readonly line: number; readonly key?: string; readonly code: string }

const PROGRAM = 'voucherctl vouchers issue-many'
const VERSION = 1

export const encodeHeader = (identity: RunIdentity) => withSum({ journal: PROGRAM, version: VERSION, ...identity })

export const encodeEntry = (entry: JournalEntry) => withSum(entry)

export interface LoadedJournal {
  /** Undefined if no run of this version wrote the first line; `problem` says why. */
  readonly identity: RunIdentity | undefined
  readonly problem: 'damaged' | 'another version' | undefined
  /** Idempotency keys of the rows that have their voucher. */
  readonly done: Set<string>
  /** Numbers of the damaged lines. */
  readonly damaged: readonly number[]
  /** Bytes of the journal up to the end of its last whole line. */
  readonly end: number
  /** Bytes of the results that the journal covers. */
  readonly resultsEnd: number
}

/**
 * Reads a journal up to its last whole line. It skips damaged lines; the rows of a torn last line
 * are requested again with their keys.
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
