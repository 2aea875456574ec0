import type { IssuedVoucher } from '../../../../contract/vouchers.js'
import { pause } from '../../../../workbench/pause.js'
import { defined } from '../../../flags/defined.js'
import { plainLine } from '../../../output/plain.js'
import { credentialOf } from '../issue.js'
import type { Appender } from './appender.js'
import type { ErrorsFile } from './errors-file.js'
import type { BulkFormat } from './input/read-rows.js'
import type { BadRow, Row } from './input/row.js'
import { encodeEntry } from './journal.js'
import { encodeLine, errorColumns, resultColumns } from './output-lines.js'

/** Where a run writes. */
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

type Entry =
  | { readonly row: Row; readonly idempotencyKey: string; readonly voucher: Partial<IssuedVoucher> | null }
  | { readonly row: Row | BadRow; readonly idempotencyKey?: string; readonly failure: RowFailure }

/** What comes in so long goes to disk together. */
const GATHER_MS = 100
/** Characters that may wait for the disk. */
const WAITING_MAX = 4_000_000

/**
 * What each row got, on disk in an order from which another run can go on: first the results, and when they are on disk
 * the journal, which names the byte where each of them ends. So the journal never names a result that is not there, and
 * results that it does not name are cut off and asked for again.
 */
export class Results {
  readonly #files: ResultFiles
  #taken: Entry[] = []
  // As text soon: answers that wait as objects grow old, and what has grown old stays in memory for long.
  #waiting = { results: '', errors: '', journal: '' }
  #resultsEnd: number
  #writing: Promise<void> | undefined
  readonly #closing = new AbortController()
  #error: unknown

  constructor(files: ResultFiles) {
    this.#files = files
    this.#resultsEnd = files.results.end
  }

  /** What went wrong with a file: then nothing more is kept, and the run must end. */
  get error(): unknown {
    return this.#error
  }

  /** Resolves when there is room for more. */
  async keep(entry: Entry): Promise<void> {
    if (this.#taken.push(entry) === 1) setImmediate(() => this.#encode())
    while (this.#waiting.journal.length > WAITING_MAX && this.#error === undefined) await this.#writing
  }

  /** After everything that arrived with it was answered with a next request, so that the server has work meanwhile. */
  #encode(): void {
    const taken = this.#taken
    this.#taken = []
    for (const entry of taken) this.#add(entry)
    if (taken.length > 0) this.#writing ??= this.#write()
  }

  #add(entry: Entry): void {
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

  /** Everything is on disk, or `error` says why not. */
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
function resultOf({ line, external_issue_id, recipient_user_id }: Row, voucher: Partial<IssuedVoucher> | null) {
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

export function errorOf({ line, external_issue_id, recipient_user_id }: Row | BadRow, failure: RowFailure) {
  const { code, message, requestId: request_id } = failure
  return { line, external_issue_id, recipient_user_id, code, message: plainLine(message), request_id }
}
