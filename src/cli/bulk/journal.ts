// The journal of a bulk command, which lets a later run continue (rules/cli.md#journal-of-bulk-commands).
import { statSync } from 'node:fs'
import { parseLine, readLines, withSum } from '../../files/summed-lines.js'
import type { BulkAction, Parameters } from './action.js'

/** Identifies a run without secrets; --resume continues only a run with the same identity. */
export interface RunIdentity extends Parameters {
  /** Base URL of the server. */
  readonly server: string
  /** SHA-256 of the input file; null for a pipe, whose rows are recognised only by key. */
  readonly input_sha256: string | null
}

/** Outcome of a row: a result, whose line in the results file ends at byte `end`, or a failure. */
type JournalEntry = { readonly line: number } & (
  | (Partial<Record<BulkAction['id'], unknown>> & { readonly key: string; readonly end: number })
  | { readonly key?: string; readonly code: string }
)

const PROGRAM = 'voucherctl vouchers '
const VERSION = 2
const START = `{"journal":"${PROGRAM}`

/** True for the start of a journal. A power failure may have replaced the text with zeros. */
const isStart = (bytes: Buffer) => bytes[0] === 0 || START.startsWith(bytes.toString('latin1', 0, START.length))

/** @param run random id that the idempotency keys of redeem-many and reverse-many contain */
export const encodeHeader = (command: string, run: string, identity: RunIdentity) =>
  withSum({ journal: `${PROGRAM}${command}`, version: VERSION, run, ...identity })

export const encodeEntry = (entry: JournalEntry) => withSum(entry)

export interface LoadedJournal {
  /**
   * Identity from the first line. Undefined if that line is damaged, of another version, or unfinished: a power failure
   * before the first call leaves one damaged line.
   */
  readonly identity: Parameters | undefined
  readonly problem: 'damaged' | 'unfinished' | 'another version' | undefined
  /** Command of the run, such as `issue-many`. */
  readonly command: string
  readonly run: string
  /** Keys of the rows that have a result. */
  readonly done: Set<string>
  /** Line numbers of the damaged lines. */
  readonly damaged: readonly number[]
  /** Offset in the journal after its last complete line. */
  readonly end: number
  /** Offset in the results file up to which the journal lists the results. */
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
  let identity: Parameters | undefined
  let [command, run] = ['', '']
  let [end, resultsEnd] = [0, 0]
  for (const { number, offset, bytes, isTorn } of readLines(path)) {
    const value = isTorn ? undefined : parseLine(bytes)
    if (number === 1 && value !== undefined) ({ identity, command, run } = readHeader(value))
    if (identity === undefined) {
      const problem = value === undefined ? problemOfStart(path, bytes) : 'another version'
      return { identity, problem, command, run, done, damaged, end, resultsEnd }
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
  return { identity, problem: undefined, command, run, done, damaged, end, resultsEnd }
}

const problemOfStart = (path: string, bytes: Buffer) =>
  bytes.length + 1 >= statSync(path).size && isStart(bytes) ? 'unfinished' : 'damaged'

function readHeader({ journal, version, run, sum: _sum, ...identity }: Record<string, unknown>) {
  const isKnown = typeof journal === 'string' && journal.startsWith(PROGRAM) && version === VERSION
  return {
    identity: isKnown ? (identity as Parameters) : undefined,
    command: String(journal).slice(PROGRAM.length),
    run: String(run),
  }
}
