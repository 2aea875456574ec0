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

/** Milliseconds to collect outcomes before each write and fsync. */
const GATHER_MS = 100
/** Maximum characters of journal lines in memory; above it, `keep` waits for the disk. */
const WAITING_MAX = 4_000_000

/**
 * Writes the outcome of each row to the results file and the journal. It syncs the results to disk, then writes
 * the journal, which contains the end offset of each result, so that the journal never lists a voucher that is missing
 * in the results. A later run truncates results that the journal does not list and requests them again.
 */
export class Results {
  readonly #files: ResultFiles
  #taken: ResultEntry[] = []
  // Encode outcomes early: V8 would move waiting objects to the old generation, where they stay long after their use.
  #waiting = { results: '', errors: '', journal: '' }
  #resultsEnd: number
  #writing: Promise<void> | undefined
  readonly #closing = new AbortController()
  #error: unknown

  constructor(files: ResultFiles) {
    this.#files = files
    this.#resultsEnd = files.results.end
  }

  /** The first write error. After it, nothing is written and the run must end. */
  get error(): unknown {
    return this.#error
  }

  /** Queues an outcome for writing; waits while the queue is full. */
  async keep(entry: ResultEntry): Promise<void> {
    if (this.#taken.push(entry) === 1) setImmediate(() => this.#encode())
    while (this.#waiting.journal.length > WAITING_MAX && this.#error === undefined) await this.#writing
  }

  /** Encodes queued outcomes. It runs after the workers have sent their next requests, so the server never waits. */
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

  /** Resolves when all outcomes are on disk, or `error` is set. */
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

/** Builds the results line of a row. The members of `voucher` may be missing, because responses are not validated. */
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
