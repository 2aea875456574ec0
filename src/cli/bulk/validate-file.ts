import { createHash } from 'node:crypto'
import { codeOf } from '../../files/error-code.js'
import type { Context } from '../command/context.js'
import { type Failure, fail } from '../failures/failure.js'
import { numberText } from '../output/text.js'
import { ErrorsFile } from './errors-file.js'
import { markDuplicates, readRows } from './input/read-rows.js'
import { type BadRow, type InputRow, isBad, UnreadableInput } from './input/row.js'
import { Mistakes } from './mistakes.js'
import type { BulkRun } from './run.js'

/** Result of validating an input file before the first call. */
interface Validation {
  readonly rows: number
  /** SHA-256 of the file as hex digits. */
  readonly sha256: string
  /** First row of the file, as an example for a dry run. */
  readonly first: InputRow | undefined
}

/** Validates an input file. One bad row is enough to refuse the file; the errors file lists all bad rows. */
export async function validateFile(
  context: Context,
  { action, rows: known, input, paths }: Pick<BulkRun, 'action' | 'rows' | 'input' | 'paths'>,
): Promise<Validation | Failure> {
  const { host, dryRun } = context
  const { verb, done } = action.words
  const errors = await ErrorsFile.at(paths.errors, action, dryRun)
  if ('ok' in errors) return errors
  const sum = createHash('sha256')
  async function* summed() {
    for await (const chunk of input.chunks()) {
      sum.update(chunk)
      yield chunk
    }
  }
  const mistakes = new Mistakes()
  let rows = 0
  let first: InputRow | undefined
  const refuse = async (row: BadRow) => {
    const { code, message } = row.fault
    mistakes.add(row)
    if (!dryRun) await errors.append(errors.encode(row, { code, message, requestId: null }))
  }
  try {
    for await (const block of markDuplicates(readRows(summed(), input.format, known), known)) {
      if (host.signal.aborted) break
      rows += block.length
      first ??= block.find((it): it is InputRow => !isBad(it))
      for (const row of block.filter(isBad)) await refuse(row)
    }
  } catch (error) {
    if (error instanceof UnreadableInput) return fail('INVALID_INPUT', `${input.name}: ${error.message}`, error.hint)
    return fail('FILE_UNREADABLE', `${input.name} cannot be read, or ${errors.path} written (${codeOf(error)}).`)
  } finally {
    await errors.close()
  }
  if (host.signal.aborted) return fail('ABORTED', 'Interrupted before anything was sent.')
  const bad = mistakes.count
  if (bad === 0) return { rows, sha256: sum.digest('hex'), first }
  const { details } = mistakes
  const areMissing = first === undefined && details.errors.every((it) => it.code === 'VALUE_MISSING')
  if (areMissing && known.needed[0]?.includes('qr_token'))
    return fail('INVALID_INPUT', `${input.name} has no codes.`, 'Name results of issue-many.', details)
  const count = bad === 1 ? '1 row cannot be sent' : `${numberText(bad)} rows cannot be sent`
  const list = dryRun ? '' : `All of them are in ${errors.path}. `
  return fail(
    'INVALID_INPUT',
    `${count} of ${numberText(rows)} in ${input.name}. Nothing was ${done}.`,
    `${list}Correct the file, or ${verb} the others: give it on standard input, with - in place of FILE.`,
    details,
  )
}
