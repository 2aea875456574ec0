import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { codeOf } from '../../../../files/error-code.js'
import { type Failure, fail, usage } from '../../../failure.js'
import { Appender } from './appender.js'
import { type BulkFormat, formatOf } from './input/read-rows.js'
import { errorColumns, headOf, looksLikeErrors } from './output-lines.js'

/** Writes the rows that failed in a run. The first failure creates the file; the next run replaces the file. */
export class ErrorsFile {
  readonly path: string
  readonly format: BulkFormat
  #file: Promise<Appender> | undefined

  private constructor(path: string) {
    this.path = path
    this.format = formatOf(path) ?? 'ndjson'
  }

  /** Opens the errors file. It refuses an existing file that no earlier run has written. */
  static async at(path: string): Promise<ErrorsFile | Failure> {
    let start = ''
    try {
      for await (const text of createReadStream(path, { end: 255, encoding: 'utf8' })) start += text
    } catch (error) {
      if (codeOf(error) !== 'ENOENT')
        return fail('FILE_UNWRITABLE', `${path} cannot be used (${codeOf(error)}).`, 'Name another file with --errors.')
    }
    if (start === '' || looksLikeErrors(start)) return new ErrorsFile(path)
    return usage(`${path} is no list of errors, and is not overwritten.`, 'Name another file with --errors.')
  }

  get wasMade(): boolean {
    return this.#file !== undefined
  }

  async append(text: string): Promise<void> {
    this.#file ??= this.#make()
    await (await this.#file).append(text)
  }

  /** Deletes the errors file of an earlier run. */
  async clear(): Promise<void> {
    await rm(this.path, { force: true })
  }

  async close(): Promise<void> {
    await (await this.#file)?.close()
  }

  async #make(): Promise<Appender> {
    const file = await Appender.resume(this.path, 0)
    await file.append(headOf(errorColumns, this.format))
    return file
  }
}
