import { open, rm } from 'node:fs/promises'
import { codeOf } from '../../../../files/error-code.js'
import type { Failure } from '../../../failure.js'
import { fail, usage } from '../../../failure.js'
import { Appender } from './appender.js'
import type { BulkFormat } from './input/read-rows.js'
import { formatOf } from './input/read-rows.js'
import { errorColumns, headOf, looksLikeErrors } from './output-lines.js'

/** The rows of one run that have no voucher, and why. Made when there is one; the next run makes it anew. */
export class ErrorsFile {
  readonly path: string
  readonly format: BulkFormat
  #opening: Promise<Appender> | undefined

  private constructor(path: string) {
    this.path = path
    this.format = formatOf(path) ?? 'ndjson'
  }

  /** Refuses a file that no run has written. */
  static async at(path: string): Promise<ErrorsFile | Failure> {
    try {
      const start = await startOf(path)
      if (start === '' || looksLikeErrors(start)) return new ErrorsFile(path)
    } catch (error) {
      return fail('FILE_UNWRITABLE', `${path} cannot be used (${codeOf(error)}).`, 'Name another file with --errors.')
    }
    return usage(`${path} is no list of errors, and is not overwritten.`, 'Name another file with --errors.')
  }

  get wasMade(): boolean {
    return this.#opening !== undefined
  }

  open(): Promise<Appender> {
    this.#opening ??= this.#make()
    return this.#opening
  }

  /** Takes away what an earlier run has left. */
  async clear(): Promise<void> {
    await rm(this.path, { force: true })
  }

  async close(): Promise<void> {
    await (await this.#opening)?.close()
  }

  async #make(): Promise<Appender> {
    const file = await Appender.resume(this.path, 0)
    await file.append(headOf(errorColumns, this.format))
    return file
  }
}

async function startOf(path: string): Promise<string> {
  const file = await open(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
