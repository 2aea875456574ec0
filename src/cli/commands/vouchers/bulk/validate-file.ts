import { createHash } from 'node:crypto'
import type { ValidationIssue } from '../../../../contract/envelope.js'
import { codeOf } from '../../../../files/error-code.js'
import type { Context } from '../../../command/context.js'
import type { Failure } from '../../../failure.js'
import { fail } from '../../../failure.js'
import { ErrorsFile } from './errors-file.js'
import { duplicateFinder } from './input/duplicates.js'
import type { BulkInput } from './input/input.js'
import { readRows } from './input/read-rows.js'
import type { BadRow, Row } from './input/row.js'
import { isBad, isUnreadableInput } from './input/row.js'
import { encodeLine, errorColumns } from './output-lines.js'
import { errorOf } from './results.js'
import type { RunPaths } from './run-files.js'

/** Of the rows that cannot be sent, so many are in the failure itself. */
const SHOWN_MAX = 10

/** Reads a file through. Where a row cannot be sent, nothing is: all of them are in the list of errors. */
export async function validateFile(context: Context, input: BulkInput, paths: RunPaths): Promise<Validation | Failure> {
  const { host, dryRun } = context
  const errors = await ErrorsFile.at(paths.errors)
  if ('ok' in errors) return errors
  const shown: ValidationIssue[] = []
  const list = async (row: BadRow) => {
    const { code, message } = row.fault
    if (shown.length < SHOWN_MAX) shown.push({ pointer: `line ${row.line}`, code, message })
    if (dryRun) return
    const line = errorOf(row, { code, message, requestId: null })
    await (await errors.open()).append(encodeLine(errorColumns, errors.format, line))
  }
  try {
    const found = await validateRows(input, list, host.signal)
    if (host.signal.aborted) return fail('ABORTED', 'Interrupted before anything was sent.')
    return found.bad === 0 ? found : refusalOf(found, shown, input, errors)
  } catch (error) {
    if (isUnreadableInput(error)) return fail('INVALID_INPUT', `${input.name}: ${error.message}`, error.hint)
    return fail('FILE_UNREADABLE', `${input.name} cannot be read, or ${errors.path} written (${codeOf(error)}).`)
  } finally {
    await errors.close()
  }
}

function refusalOf({ rows, bad }: Validation, shown: readonly ValidationIssue[], input: BulkInput, errors: ErrorsFile) {
  const count = bad === 1 ? '1 row cannot be sent' : `${bad.toLocaleString('en-US')} rows cannot be sent`
  const list = errors.wasMade ? `All of them are in ${errors.path}. ` : ''
  return fail(
    'INVALID_INPUT',
    `${count} of ${rows.toLocaleString('en-US')} in ${input.name}. Nothing was issued.`,
    `${list}Correct the file, or issue the others: give it on standard input, with - in place of FILE.`,
    { errors: shown, ...(bad > shown.length ? { more: bad - shown.length } : {}) },
  )
}

/** What a file holds, known before its first voucher is issued. */
interface Validation {
  readonly rows: number
  readonly bad: number
  /** Of its bytes, in hex. */
  readonly sha256: string
  /** For a dry run. */
  readonly first: Row | undefined
}

/** Reads a whole file without keeping it. @throws UnreadableInput */
async function validateRows(
  input: BulkInput,
  onBad: (row: BadRow) => Promise<void>,
  signal: AbortSignal,
): Promise<Validation> {
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
