import { createReadStream, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { syncFolder } from '../../files/sync-folder.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { holdLock } from '../host/lock.js'
import { type BulkAction, type Parameters, resultColumnsOf } from './action.js'
import { Appender } from './appender.js'
import { ErrorsFile } from './errors-file.js'
import { readCsv } from './input/csv-records.js'
import { type ReadLine, readLines } from './input/lines.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import type { InputRow } from './input/row.js'
import { encodeHeader, type LoadedJournal, loadJournal, type RunIdentity } from './journal.js'
import { keyOf } from './key.js'
import { headOf } from './output-lines.js'
import { countUp, type ResultFiles } from './results.js'

/** Output paths of a run. */
export interface RunPaths {
  readonly out: string
  readonly journal: string
  readonly errors: string
}

export const pathsOf = (out: string, errors?: string): RunPaths => ({
  out,
  journal: `${out}.journal`,
  errors: errors ?? out.replace(/(\.\w+)$/, '.errors$1'),
})

/** Makes the paths absolute, because two different relative paths may mean the same file. */
export const pathsFrom = (folder: string, { out, journal, errors }: RunPaths): RunPaths => ({
  out: resolve(folder, out),
  journal: resolve(folder, journal),
  errors: resolve(folder, errors),
})

/** Checks the paths for conflicts without opening any file. */
export function checkPaths({ out, errors }: RunPaths, input: string, folder: string): Failure | undefined {
  for (const [flag, path] of Object.entries({ '--out': out, '--errors': errors })) {
    if (formatOf(path) === undefined) return usage(`${flag} must end in .csv, .ndjson or .jsonl.`)
  }
  return new Set([out, errors, input].map((it) => resolve(folder, it))).size < 3
    ? usage('FILE, --out and --errors must be three files.')
    : undefined
}

export interface RunFiles {
  readonly ok: true
  readonly files: ResultFiles
  /** The id of the resumed run, or a new one. */
  readonly run: string
  /** True for a row with a result in the results file. */
  isDone(row: InputRow, key: string): boolean
  readonly doneCount: number
  /** Counts of the values that the command tallies, in the results of earlier runs. */
  readonly tallied: Map<string, number>
  /** Line numbers of damaged lines in the journal. */
  readonly damaged: readonly number[]
  /** @param keeps false to remove new files without any outcome, so that a corrected run can start */
  close(keeps: boolean): Promise<void>
}

interface RunRequest {
  readonly action: BulkAction
  readonly parameters: Parameters
  readonly identity: RunIdentity
  readonly resume: boolean
  /** Id for a new run. */
  readonly newRun: string
}

/** Opens the output files of a new or resumed run. It never overwrites files that no run has written. */
export async function openRun(paths: RunPaths, request: RunRequest): Promise<RunFiles | Failure> {
  try {
    const release = holdLock(`${paths.journal}.lock`)
    if (release === undefined) {
      const hint = `Wait for it. If no run is active, here or on another machine, remove ${paths.journal}.lock.`
      return fail('RESULTS_IN_USE', `Another run writes to ${paths.out}.`, hint)
    }
    const opened = await openUnderLock(paths, request).catch((error: unknown) => {
      release()
      throw error
    })
    if (opened.ok) return { ...opened, close: (keeps) => opened.close(keeps).finally(release) }
    release()
    return opened
  } catch (error) {
    const hint = 'Check the folder of --out and its permissions.'
    return fail('FILE_UNWRITABLE', `${paths.out} or its journal cannot be written (${codeOf(error)}).`, hint)
  }
}

async function openUnderLock(paths: RunPaths, request: RunRequest): Promise<RunFiles | Failure> {
  const { action, identity, resume } = request
  const errors = await ErrorsFile.at(paths.errors, action)
  if ('ok' in errors) return errors
  const journalBytes = sizeOf(paths.journal)
  const outBytes = sizeOf(paths.out)
  const isNew = journalBytes === undefined && outBytes === undefined
  if (!isNew && !resume) return exists(paths, outBytes !== undefined)
  const before = journalBytes === undefined ? undefined : loadJournal(paths.journal)
  const problem = isNew ? undefined : checkResume(paths, request, before, { journal: journalBytes, out: outBytes })
  if (problem !== undefined) return problem
  const begun = before?.identity === undefined ? undefined : before

  const format = formatOf(paths.out) as BulkFormat
  const { done, damaged, run } = begun ?? { done: new Set<string>(), damaged: [], run: request.newRun }
  const { doneLines, tallied } = await countResults(paths.out, request, begun)
  const firstLines = { journal: encodeHeader(action.name, run, identity), out: headOf(resultColumnsOf(action), format) }
  const { journal, results } = await openPair(paths, { begun, isNew, firstLines })
  await errors.clear()
  const isFresh = begun === undefined
  const headerEnd = journal.end
  const files = { results, journal, format, errors }
  const close = async (keeps: boolean) => {
    await Promise.all([results.close(), journal.close(), errors.close()])
    if (isFresh && journal.end === headerEnd && !keeps)
      await Promise.all([paths.out, paths.journal].map((path) => rm(path)))
  }
  const isDone = ({ line }: InputRow, key: string) => done.has(key) || doneLines.has(line)
  const doneCount = Math.max(done.size, doneLines.size)
  return { ok: true, files, run, isDone, doneCount, tallied, damaged, close }
}

interface PairRequest {
  readonly begun: LoadedJournal | undefined
  /** True if neither file exists. */
  readonly isNew: boolean
  readonly firstLines: Readonly<Record<'journal' | 'out', string>>
}

/**
 * Opens the journal and the results of a run.
 * @throws errors of the file system and of `refuseForeign`; leaves no file open, and no file of a new run
 */
async function openPair(paths: RunPaths, { begun, isNew, firstLines }: PairRequest) {
  const opened = new Map<string, Appender>()
  const open = async (path: string, end = 0) => {
    const file = await Appender.resume(path, end)
    opened.set(path, file)
    return file
  }
  try {
    const journal = await open(paths.journal, begun?.end)
    if (begun === undefined) await journal.append(firstLines.journal)
    await journal.sync()
    const results = await open(paths.out, begun?.resultsEnd)
    if (results.end === 0) await results.append(firstLines.out)
    // A power failure must leave both files, because a run cannot be resumed with only one.
    for (const folder of new Set([paths.journal, paths.out].map(dirname))) syncFolder(folder)
    return { journal, results }
  } catch (error) {
    for (const [path, file] of opened) {
      await file.close()
      if (isNew) await rm(path)
    }
    throw error
  }
}

/**
 * Counts the values that the command tallies in the results of earlier runs. If lines of the journal are damaged, it
 * also finds the rows whose results are in the file: another call would duplicate its result.
 * @param begun the journal of the earlier runs; its `done` gets the keys of such rows
 * @returns numbers of the lines of such rows that have no key
 */
async function countResults(
  out: string,
  { action, parameters, identity }: RunRequest,
  begun: LoadedJournal | undefined,
): Promise<{ doneLines: Set<number>; tallied: Map<string, number> }> {
  const doneLines = new Set<number>()
  const tallied = new Map<string, number>()
  const { tally } = action
  if (begun === undefined || (begun.damaged.length === 0 && tally === undefined)) return { doneLines, tallied }
  // Rows of a pipe may come in another order, so they are recognised only if their key needs no credential.
  const findsLines = begun.damaged.length > 0 && identity.input_sha256 !== null
  for await (const line of readResults(out, begun.resultsEnd, formatOf(out) as BulkFormat)) {
    if (tally !== undefined) countUp(tallied, line[tally])
    const key = keyOf(action, line as InputRow['values'], begun.run, parameters)
    if (key !== undefined) begun.done.add(key)
    else if (findsLines) doneLines.add(Number(line.line))
  }
  return { doneLines, tallied }
}

const exists = ({ out, journal }: RunPaths, isOut: boolean) =>
  usage(
    `${isOut ? out : journal} is there already, and is not overwritten.`,
    'Go on with that run with --resume, or name another file with --out.',
  )

/** Explains why --resume cannot continue with the existing files; undefined if it can. */
function checkResume(
  { out, journal }: RunPaths,
  { action, identity }: RunRequest,
  before: LoadedJournal | undefined,
  bytes: Readonly<Record<'journal' | 'out', number | undefined>>,
): Failure | undefined {
  const another = 'Name another file with --out.'
  // A run that ended before its first call left no results, and at most an unfinished journal.
  if (before?.identity === undefined) {
    if (!bytes.out && (!bytes.journal || before?.problem === 'unfinished')) return undefined
    const why =
      before?.problem === 'another version'
        ? 'is a journal of another version of voucherctl'
        : 'is not a journal of a run, or its line 1 is damaged'
    const again = action.isKeyedByRun
      ? 'There every row is a new action.'
      : 'A row that has its voucher gets the same one there: it is issued once.'
    return usage(`${journal} ${why}, so that nothing is known of ${out}.`, `${another} ${again}`)
  }
  if (before.command !== action.name) {
    return usage(`${journal} belongs to a run of vouchers ${before.command}.`, another)
  }
  const difference = differenceOf(before.identity, identity)
  if (difference !== undefined) {
    const flags = Object.keys(identity).filter((it) => it !== 'server' && it !== 'input_sha256')
    return usage(
      `${journal} belongs to a run with another ${difference}.`,
      `Repeat it with the same ${[...flags, 'server'].join(', ')} and FILE. ${another}`,
    )
  }
  if ((bytes.out ?? 0) >= before.resultsEnd) return undefined
  return usage(`${out} is shorter than its journal says: it was changed or removed.`, another)
}

/** Describes the first member in which the identities of two runs differ. */
function differenceOf(before: Parameters, now: RunIdentity): string | undefined {
  const member = Object.keys(now).find((name) => (before[name] ?? null) !== now[name])
  if (member === undefined) return undefined
  return member === 'input_sha256'
    ? 'content of FILE'
    : `${member} (${before[member] ?? 'none'}, now ${now[member] ?? 'none'})`
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size

/** Reads the lines of a results file up to a byte offset. An empty CSV value is absent. */
async function* readResults(
  path: string,
  bytes: number,
  format: BulkFormat,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  if (bytes === 0) return
  const blocks = readLines(createReadStream(path, { end: bytes - 1 }))
  if (format === 'csv') return yield* readCsvResults(blocks)
  for await (const lines of blocks)
    for (const line of lines) if ('text' in line && line.text !== '') yield JSON.parse(line.text)
}

async function* readCsvResults(blocks: AsyncIterable<ReadLine[]>): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let columns: readonly string[] | undefined
  for await (const records of readCsv(blocks)) {
    for (const record of records) {
      if ('fault' in record) continue
      const { values } = record
      if (columns === undefined) columns = values
      else yield Object.fromEntries(columns.map((name, i) => [name, values[i] || undefined]))
    }
  }
}
