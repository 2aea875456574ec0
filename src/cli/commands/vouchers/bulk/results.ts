import type { IssuedVoucher } from '../../../../contract/vouchers.js'
import { pause } from '../../../../workbench/pause.js'
import { defined } from '../../../flags/defined.js'
import { plainLine } from '../../../output/plain.js'
import { credentialOf } from '../issue.js'
import type { Appender } from './appender.js'
import type { ErrorsFile } from './errors-file.js'
import type { BulkFormat } from './input/read-rows.js'
import type { BadRow, InputRow } from './input/row.js'
import { encodeEntry } from './journal.js'
import { encodeLine, errorColumns, resultColumns } from './output-lines.js'

/** Output files of a run. */
export interface ResultFiles {
  readonly results: Appender
  readonly journal: Appender
  readonly format: BulkFormat
  readonly errors: Pick<ErrorsFile, 'append' | 'format' | 'wasMade'>
}

interface RowFailure {
  readonly code: string
  readonly message: string
  readonly requestId: string | null
}

type ResultEntry =
  | { readonly row: InputRow; readonly idempotencyKey: string; readonly voucher: Partial<IssuedVoucher> | null }
  | { readonly row: InputRow | BadRow; readonly idempotencyKey?: string; readonly failure: RowFailure }

/** Milliseconds of entries per fsync. */
const GATHER_MS = 100
/** Maximum characters of the journal in memory. */
const WAITING_MAX = 4_000_000

/**
 * Writes the result of each row in an order from which another run can continue: first the results, and after their
 * fsync the journal, which contains the end offset of each result. So the journal never refers to a missing result; a
 * later run truncates results without a journal entry and requests them again.
 */
export class Results {
  readonly #files: ResultFiles
  #taken: ResultEntry[] = []
  // Encoded early: V8 promotes waiting objects to the old generation, which keeps them in memory for long.
  #waiting = { results: '', errors: '', journal: '' }
  #resultsEnd: number
  #writing: Promise<void> | undefined
  readonly #closing = new AbortController()
  #error: unknown

  constructor(files: ResultFiles) {
    this.#files = files
    this.#resultsEnd = files.results.end
  }

  /** The first write error, after which nothing is written and the run must end. */
  get error(): unknown {
    return this.#error
  }

  /** Resolves when there is room for more. */
  async keep(entry: ResultEntry): Promise<void> {
    if (this.#taken.push(entry) === 1) setImmediate(() => this.#encode())
    while (this.#waiting.journal.length > WAITING_MAX && this.#error === undefined) await this.#writing
  }

  /** Runs after the workers have sent their next requests, so that the server has work meanwhile. */
  #encode(): void {
    const taken = this.#taken
    this.#taken = []
    for (const entry of taken) this.#add(entry)
    if (taken.length > 0) this.#writing ??= this.#write()
  }

  #add(entry: ResultEntry): void {
    const waiting = this.#waiting
    const { line } = entry.row
    if ('voucher' in entry) {
      const result = resultOf(entry.row, entry.voucher)
      const text = encodeLine(resultColumns, this.#files.format, result)
      this.#resultsEnd += Buffer.byteLength(text)
      waiting.results += text
      const { idempotencyKey: key } = entry
      waiting.journal += encodeEntry({ line, key, voucher_id: result.voucher_id, end: this.#resultsEnd })
    } else {
      waiting.errors += encodeLine(errorColumns, this.#files.errors.format, errorOf(entry.row, entry.failure))
      waiting.journal += encodeEntry({ line, ...defined({ key: entry.idempotencyKey }), code: entry.failure.code })
    }
  }

  /** Resolves when everything is on disk or `error` is set. */
  async close(): Promise<void> {
    this.#encode()
    this.#closing.abort()
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    await pause(GATHER_MS, this.#closing.signal)
    const texts = this.#waiting
    this.#waiting = { results: '', errors: '', journal: '' }
    try {
      if (this.#error === undefined) await this.#append(texts)
    } catch (error) {
      this.#error = error
    }
    this.#writing = this.#waiting.journal === '' ? undefined : this.#write()
  }

  async #append(texts: Readonly<Record<'results' | 'errors' | 'journal', string>>): Promise<void> {
    const { results, errors, journal } = this.#files
    if (texts.results !== '') {
      await results.append(texts.results)
      await results.sync()
    }
    if (texts.errors !== '') await errors.append(texts.errors)
    await journal.append(texts.journal)
  }
}

const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)

/** The voucher of a response is typed and not validated. */
function resultOf({ line, external_issue_id, recipient_user_id }: InputRow, voucher: Partial<IssuedVoucher> | null) {
  return {
    line,
    external_issue_id,
    recipient_user_id,
    voucher_id: textOrNull(voucher?.id),
    redeem_code: credentialOf(voucher, 'redeem_code'),
    qr_token: credentialOf(voucher, 'qr_token'),
    valid_from: textOrNull(voucher?.validFrom),
    valid_until: textOrNull(voucher?.validUntil),
  }
}

export function errorOf({ line, external_issue_id, recipient_user_id }: InputRow | BadRow, failure: RowFailure) {
  const { code, message, requestId: request_id } = failure
  return { line, external_issue_id, recipient_user_id, code, message: plainLine(message), request_id }
}
