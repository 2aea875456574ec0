import { createReadStream, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../../../files/error-code.js'
import { type Failure, fail, usage } from '../../../failure.js'
import { holdLock } from '../../../host/lock.js'
import { Appender } from './appender.js'
import { ErrorsFile } from './errors-file.js'
import { readCsv } from './input/csv-records.js'
import { readLines } from './input/lines.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import { idempotencyKeyOf } from './input/row.js'
import { encodeHeader, type LoadedJournal, loadJournal, type RunIdentity } from './journal.js'
import { headOf, resultColumns } from './output-lines.js'
import type { ResultFiles } from './results.js'

/** Paths of the output files of a run. */
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
  if (out === '-' || errors === '-') {
    return usage(
      '--out and --errors take paths: codes go into a file that you alone can read, and --resume goes on with it.',
    )
  }
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
  /** Idempotency keys of the rows whose voucher is already in the results file. */
  readonly done: ReadonlySet<string>
  /** Line numbers of damaged lines in the journal. */
  readonly damaged: readonly number[]
  close(): Promise<void>
}

/** Opens the output files of a new or resumed run. It never overwrites files that no run has written. */
export async function openRun(paths: RunPaths, identity: RunIdentity, resume: boolean): Promise<RunFiles | Failure> {
  try {
    const release = holdLock(`${paths.journal}.lock`)
    if (release === undefined) {
      const hint = `Wait for it. If none runs, on another machine neither, remove ${paths.journal}.lock.`
      return fail('RESULTS_IN_USE', `Another run writes to ${paths.out}.`, hint)
    }
    const opened = await openUnderLock(paths, identity, resume).catch((error: unknown) => {
      release()
      throw error
    })
    if (opened.ok) return { ...opened, close: () => opened.close().finally(release) }
    release()
    return opened
  } catch (error) {
    const hint = 'Check the folder of --out and its permissions.'
    return fail('FILE_UNWRITABLE', `${paths.out} or its journal cannot be written (${codeOf(error)}).`, hint)
  }
}

async function openUnderLock(paths: RunPaths, identity: RunIdentity, resume: boolean): Promise<RunFiles | Failure> {
  const errors = await ErrorsFile.at(paths.errors)
  if ('ok' in errors) return errors
  const journalBytes = sizeOf(paths.journal)
  const outBytes = sizeOf(paths.out)
  const isNew = journalBytes === undefined && outBytes === undefined
  if (!isNew && !resume) return exists(paths, outBytes !== undefined)
  const before = journalBytes === undefined ? undefined : loadJournal(paths.journal)
  const problem = isNew ? undefined : checkResume(paths, identity, before, { journal: journalBytes, out: outBytes })
  if (problem !== undefined) return problem
  const begun = before?.identity === undefined ? undefined : before

  const format = formatOf(paths.out) as BulkFormat
  // A damaged journal line hides a row whose result is in the file: issuing that row again would duplicate its result.
  if (begun !== undefined && begun.damaged.length > 0) {
    for await (const row of readIssuedRows(paths.out, begun.resultsEnd, format)) {
      begun.done.add(idempotencyKeyOf(identity.template, row))
    }
  }
  const journal = await Appender.resume(paths.journal, begun?.end ?? 0)
  if (begun === undefined) {
    await journal.append(encodeHeader(identity))
    await journal.sync()
  }
  const results = await Appender.resume(paths.out, begun?.resultsEnd ?? 0)
  if (results.end === 0) await results.append(headOf(resultColumns, format))
  await errors.clear()
  const isFresh = begun === undefined
  const headerEnd = journal.end
  const files = { results, journal, format, errors }
  const close = async () => {
    await Promise.all([results.close(), journal.close(), errors.close()])
    // Remove output files without results, for example after a wrong token, so that a corrected run can start.
    if (isFresh && journal.end === headerEnd) await Promise.all([paths.out, paths.journal].map((path) => rm(path)))
  }
  const { done, damaged } = begun ?? { done: new Set(), damaged: [] }
  return { ok: true, files, done, damaged, close }
}

const exists = ({ out, journal }: RunPaths, isOut: boolean) =>
  usage(
    `${isOut ? out : journal} is there already, and is not overwritten.`,
    'Go on with that run with --resume, or name another file with --out.',
  )

/** Explains why --resume cannot continue with the existing files; undefined if it can. */
function checkResume(
  { out, journal }: RunPaths,
  identity: RunIdentity,
  before: LoadedJournal | undefined,
  bytes: Readonly<Record<'journal' | 'out', number | undefined>>,
): Failure | undefined {
  const another = 'Name another file with --out.'
  // A run that was killed before its first write left empty files, which may be used.
  if (before?.identity === undefined) {
    if (!bytes.out && !bytes.journal) return undefined
    const why =
      before?.problem === 'another version'
        ? 'is a journal of another version of voucherctl'
        : 'is no journal of a run, or its line 1 is damaged'
    return usage(
      `${journal} ${why}, so that nothing is known of ${out}.`,
      `${another} A row that has its voucher gets the same one there: it is issued once.`,
    )
  }
  const names = { template: 'template', server: 'server', input_sha256: 'content of FILE' } as const
  for (const [member, name] of Object.entries(names)) {
    const [was, is] = [before.identity[member as keyof RunIdentity], identity[member as keyof RunIdentity]]
    if (was === is) continue
    const values = member === 'input_sha256' ? '' : ` (${was}, now ${is})`
    return usage(
      `${journal} belongs to a run with another ${name}${values}.`,
      `Repeat it with the same template, server and FILE. ${another}`,
    )
  }
  if ((bytes.out ?? 0) >= before.resultsEnd) return undefined
  return usage(`${out} is shorter than its journal says: it was changed or removed.`, another)
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size

/** Reads the rows of a results file up to a byte offset. */
async function* readIssuedRows(path: string, bytes: number, format: BulkFormat) {
  if (bytes === 0) return
  const blocks = readLines(createReadStream(path, { end: bytes - 1 }))
  if (format === 'csv') {
    for await (const records of readCsv(blocks)) {
      for (const record of records) {
        if ('fault' in record || record.line === 1) continue
        const [, external_issue_id = '', recipient_user_id = ''] = record.values
        yield { external_issue_id, recipient_user_id }
      }
    }
    return
  }
  for await (const lines of blocks) {
    for (const line of lines) if ('text' in line && line.text !== '') yield JSON.parse(line.text)
  }
}
