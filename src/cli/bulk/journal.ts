// The journal of a bulk command, which lets a later run continue (rules/cli.md#journal-of-bulk-commands).
import { existsSync, statSync } from 'node:fs'
import { parseLine, readLines, withSum } from '../../files/summed-lines.js'
import type { BulkAction, Parameters } from './action.js'

/** Identifies a run without secrets; --resume continues only a run with the same identity. */
export interface RunIdentity extends Parameters {
  /** Base URL of the server. */
  readonly server: string
  /** SHA-256 of the input file; null for a pipe, whose rows are recognised only by key. */
  readonly input_sha256: string | null
}

/** Outcome of a row. Results are in the order of the results file. */
type JournalEntry = { readonly line: number } & (
  | (Partial<Record<BulkAction['id'], unknown>> & { readonly key: string })
  | { readonly key?: string; readonly code: string }
)

const PROGRAM = 'voucherctl vouchers '
const VERSION = 3
/** Version 2 also has the offset of each result, which is ignored. */
const READABLE: readonly unknown[] = [2, VERSION]
const START = `{"journal":"${PROGRAM}`

/** @param run random id that the idempotency keys of redeem-many and reverse-many contain */
export const encodeHeader = (command: string, run: string, identity: RunIdentity) =>
  withSum({ journal: `${PROGRAM}${command}`, version: VERSION, run, ...identity })

export const encodeEntry = (entry: JournalEntry) => withSum(entry)

interface JournalHeader {
  readonly identity: Parameters
  /** Command of the run, such as `issue-many`. */
  readonly command: string
  readonly run: string
}

/**
 * Reads the first line of a journal. An unfinished journal is missing, empty or a single damaged line: its run has made
 * no call.
 * @throws errors of the file system and of `requireFile`
 */
export function readHeader(path: string): JournalHeader | 'unfinished' | 'damaged' | 'another version' {
  if (!existsSync(path)) return 'unfinished'
  const [first] = readLines(path)
  if (first === undefined) return 'unfinished'
  const value = first.isTorn ? undefined : parseLine(first.bytes)
  if (value === undefined)
    return first.bytes.length + 1 >= statSync(path).size && isStart(first.bytes) ? 'unfinished' : 'damaged'
  const { journal, version, run, ...identity } = value
  if (typeof journal !== 'string' || !journal.startsWith(PROGRAM) || !READABLE.includes(version))
    return 'another version'
  return { identity: identity as Parameters, command: journal.slice(PROGRAM.length), run: String(run) }
}

/** True for the start of a journal. A power failure may have replaced the text with zeros. */
const isStart = (bytes: Buffer) => bytes[0] === 0 || START.startsWith(bytes.toString('latin1', 0, START.length))

interface JournalLine {
  /** Line number, from 1. */
  readonly number: number
  /** Members of an entry; undefined for a damaged line. */
  readonly entry: Readonly<Record<string, unknown>> | undefined
  /** Offset in the journal after the line. */
  readonly end: number
}

/**
 * Reads the complete lines of a journal, including the first.
 * @throws errors of the file system and of `requireFile`
 */
export function* readEntries(path: string): Generator<JournalLine> {
  for (const { number, offset, bytes, isTorn } of readLines(path))
    if (!isTorn) yield { number, entry: parseLine(bytes), end: offset + bytes.length + 1 }
}
