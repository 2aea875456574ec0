import { statSync } from 'node:fs'
import { type Failure, usage } from '../failures/failure.js'
import type { BulkAction, Parameters } from './action.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import type { InputRow } from './input/row.js'
import { type RunIdentity, readEntries, readHeader } from './journal.js'
import { keyOf } from './key.js'
import { readWritten } from './output-lines.js'
import type { RunPaths } from './paths.js'
import { countUp } from './results.js'

export interface RunRequest {
  readonly action: BulkAction
  readonly identity: RunIdentity
  readonly resume: boolean
  /** Id for a new run. */
  readonly newRun: string
}

/** What earlier runs left in the output files. */
export interface EarlierRuns {
  /** The id of the resumed run, or a new one. */
  readonly run: string
  /** Number of results. */
  readonly count: number
  /** Counts of the values that the command tallies. */
  readonly tallied: Map<string, number>
  /** Line numbers of damaged lines in the journal. */
  readonly damaged: readonly number[]
  /** Offsets after the last intact line of the journal and after the last result that it lists; 0 for a new run. */
  readonly ends: Readonly<Record<'journal' | 'out', number>>
  /** True for a row with a result. */
  isDone(row: InputRow, key: string): boolean
}

const ANOTHER = 'Name another file with --out.'

/**
 * Reads the output files of the runs that a run continues. Fails if they belong to another run.
 * @throws errors of the file system and of `requireFile`
 */
export function readEarlierRuns(paths: RunPaths, request: RunRequest): EarlierRuns | Failure {
  const { out, journal } = paths
  const { action, identity, newRun } = request
  const header = readHeader(journal)
  if (typeof header === 'string') {
    if (header === 'unfinished' && !statSync(out, { throwIfNoEntry: false })?.size) {
      const ends = { journal: 0, out: 0 }
      return { run: newRun, count: 0, tallied: new Map(), damaged: [], ends, isDone: () => false }
    }
    const why = {
      unfinished: 'is missing or has no complete line',
      damaged: 'is not a journal of a run, or its line 1 is damaged',
      'another version': 'is a journal of another version of voucherctl',
    }[header]
    const again = action.isKeyedByRun
      ? 'There every row is a new action.'
      : 'A row that has its voucher gets the same one there: it is issued once.'
    return usage(`${journal} ${why}, so that nothing is known of ${out}.`, `${ANOTHER} ${again}`)
  }
  if (header.command !== action.name) {
    return usage(`${journal} belongs to a run of vouchers ${header.command}.`, ANOTHER)
  }
  const difference = differenceOf(header.identity, identity)
  if (difference !== undefined) {
    const flags = Object.keys(identity).filter((it) => it !== 'server' && it !== 'input_sha256')
    return usage(
      `${journal} belongs to a run with another ${difference}.`,
      `Repeat it with the same ${[...flags, 'server'].join(', ')} and FILE. ${ANOTHER}`,
    )
  }
  const results = readResults(paths, request, header.run)
  return results ?? usage(`${out} lacks results that its journal lists: it was changed or removed.`, ANOTHER)
}

/** Describes the first member in which the identities of two runs differ. */
function differenceOf(before: Parameters, now: RunIdentity): string | undefined {
  const member = Object.keys(now).find((name) => (before[name] ?? null) !== now[name])
  if (member === undefined) return undefined
  return member === 'input_sha256'
    ? 'content of FILE'
    : `${member} (${before[member] ?? 'none'}, now ${now[member] ?? 'none'})`
}

/**
 * Matches the lines of the results file with the journal, which lists them in the same order. Lines between listed ones
 * are results too, because the journal listed them before it was damaged. Undefined if a listed result is missing.
 */
function readResults(
  { out, journal }: RunPaths,
  { action, identity }: RunRequest,
  run: string,
): EarlierRuns | undefined {
  const { id, tally = '' } = action
  // The rows of a pipe may come in another order, so only their keys identify them.
  const isPipe = identity.input_sha256 === null
  const done = new Set<unknown>()
  const tallied = new Map<string, number>()
  const damaged: number[] = []
  const ends = { journal: 0, out: 0 }
  let count = 0
  const results = readWritten(out, formatOf(out) as BulkFormat)
  try {
    for (const { number, entry, end } of readEntries(journal)) {
      if (entry === undefined) {
        damaged.push(number)
        continue
      }
      ends.journal = end
      if (number === 1 || 'code' in entry) continue
      for (let isListed = false; !isListed; count += 1) {
        const { value: result } = results.next()
        if (result === undefined) return undefined
        const { values } = result
        done.add(isPipe ? keyOf(action, values as InputRow['values'], run, identity) : Number(values.line))
        countUp(tallied, values[tally])
        ends.out = result.end
        isListed = Number(values.line) === entry.line && (values[id] ?? '') === (entry[id] ?? '')
      }
      if (isPipe) done.add(entry.key)
    }
  } finally {
    results.return(undefined)
  }
  return { run, count, tallied, damaged, ends, isDone: ({ line }, key) => done.has(isPipe ? key : line) }
}
