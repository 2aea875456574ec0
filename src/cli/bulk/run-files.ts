import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { syncFolder } from '../../files/sync-folder.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { holdLock } from '../host/lock.js'
import { resultColumnsOf } from './action.js'
import { Appender } from './appender.js'
import { type EarlierRuns, type RunRequest, readEarlierRuns } from './earlier-runs.js'
import { ErrorsFile } from './errors-file.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import { encodeHeader } from './journal.js'
import { headOf } from './output-lines.js'
import type { RunPaths } from './paths.js'
import { Results } from './results.js'

interface OpenedRun extends EarlierRuns {
  readonly ok: true
  readonly results: Results
  /** @param keeps false to remove the files of a new run without any outcome, so that a corrected run can start */
  close(keeps: boolean): Promise<void>
}

/** Opens the output files of a new or resumed run. It never overwrites files that no run has written. */
export async function openRun(paths: RunPaths, request: RunRequest): Promise<OpenedRun | Failure> {
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

async function openUnderLock(paths: RunPaths, request: RunRequest): Promise<OpenedRun | Failure> {
  const { action, identity } = request
  const errors = await ErrorsFile.at(paths.errors, action)
  if ('ok' in errors) return errors
  const existing = request.resume ? undefined : [paths.out, paths.journal].find((path) => existsSync(path))
  if (existing !== undefined) {
    const hint = 'Go on with that run with --resume, or name another file with --out.'
    return usage(`${existing} is there already, and is not overwritten.`, hint)
  }
  const earlier = readEarlierRuns(paths, request)
  if ('ok' in earlier) return earlier
  const { ends, run, tallied } = earlier

  // Close and remove the results first: a run can be resumed without results, but not without its journal.
  const opened: Appender[] = []
  const open = async (path: string, firstLine: string, end: number) => {
    const file = await Appender.open(path, firstLine, end)
    opened.unshift(file)
    return file
  }
  const close = async (keeps: boolean) => {
    await errors.close()
    for (const file of opened) {
      await file.close()
      if (ends.journal === 0 && !keeps) await rm(file.path)
    }
  }
  try {
    const format = formatOf(paths.out) as BulkFormat
    const journal = await open(paths.journal, encodeHeader(action.name, run, identity), ends.journal)
    await journal.sync()
    const results = await open(paths.out, headOf(resultColumnsOf(action), format), ends.out)
    // A power failure must leave both files, because a run with results cannot be resumed with only one.
    for (const folder of new Set([paths.journal, paths.out].map(dirname))) syncFolder(folder)
    await errors.clear()
    return { ...earlier, ok: true, results: new Results({ results, journal, format, errors }, action, tallied), close }
  } catch (error) {
    await close(false)
    throw error
  }
}
