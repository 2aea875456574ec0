import { createReadStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { codeOf } from '../../files/error-code.js'
import { requireFile } from '../../files/read-file.js'
import { checkReplace, refuseForeignFile } from '../../files/replace-file.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { plainLine } from '../output/text.js'
import type { BulkAction } from './action.js'
import { Appender } from './appender.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import type { ReadRow } from './input/row.js'
import { encodeLine, headOf } from './output-lines.js'

/** Why a row failed. */
export interface RowFailure {
  readonly code: string
  readonly message: string
  readonly requestId: string | null
}

/** Writes the rows that failed in a run. The first failure creates the file; the next run replaces the file. */
export class ErrorsFile {
  readonly path: string
  readonly #format: BulkFormat
  readonly #columns: readonly string[]
  #file: Promise<Appender> | undefined

  private constructor(path: string, columns: readonly string[]) {
    this.path = path
    this.#columns = columns
    this.#format = formatOf(path) ?? 'ndjson'
  }

  /** Opens the errors file. It refuses a path that cannot be written, and an existing file that no run has written. */
  static async at(
    path: string,
    { errorIds }: Pick<BulkAction, 'errorIds'>,
    dryRun = false,
  ): Promise<ErrorsFile | Failure> {
    const columns = ['line', ...errorIds, 'code', 'message', 'request_id']
    let start = ''
    try {
      if (dryRun) refuseForeignFile(path)
      else checkReplace(path)
      if (existsSync(path)) {
        // The next run would remove a device, for every program of the machine.
        requireFile(path)
        for await (const text of createReadStream(path, { end: 255, encoding: 'utf8' })) start += text
      }
    } catch (error) {
      return fail('FILE_UNWRITABLE', `${path} cannot be used (${codeOf(error)}).`, 'Name another file with --errors.')
    }
    const [first = ''] = start.split('\n')
    if (start === '' || first === columns.join(',') || first.startsWith('{"line":'))
      return new ErrorsFile(path, columns)
    return usage(`${path} is not a list of errors, and is not overwritten.`, 'Name another file with --errors.')
  }

  encode({ line, values }: ReadRow, { code, message, requestId }: RowFailure): string {
    const failure = { code, message: plainLine(message), request_id: requestId }
    return encodeLine(this.#columns, this.#format, { ...values, line, ...failure })
  }

  async append(text: string): Promise<void> {
    this.#file ??= Appender.open(this.path, headOf(this.#columns, this.#format))
    await (await this.#file).append(text)
  }

  /** Deletes the errors file of an earlier run. */
  async clear(): Promise<void> {
    await rm(this.path, { force: true })
  }

  async close(): Promise<void> {
    // `append` has reported the error of a file that could not be made.
    await (await this.#file?.catch(() => undefined))?.close()
  }
}
