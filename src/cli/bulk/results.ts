import { pause } from '../../files/pause.js'
import { defined } from '../../values/json.js'
import { type BulkAction, type ResultLine, resultColumnsOf } from './action.js'
import type { Appender } from './appender.js'
import type { ErrorsFile, RowFailure } from './errors-file.js'
import type { BulkFormat } from './input/read-rows.js'
import type { InputRow, ReadRow } from './input/row.js'
import { encodeEntry } from './journal.js'
import { encodeLine } from './output-lines.js'

/** Output files of a run. */
interface ResultFiles {
  readonly results: Pick<Appender, 'append' | 'sync'>
  readonly journal: Pick<Appender, 'append'>
  readonly format: BulkFormat
  readonly errors: Pick<ErrorsFile, 'append' | 'encode'>
}

type ResultEntry =
  | { readonly row: InputRow; readonly key: string; readonly data: unknown }
  | { readonly row: ReadRow; readonly key?: string; readonly failure: RowFailure }

/** Milliseconds to collect outcomes before each write and fsync. */
const GATHER_MS = 100
/** Maximum characters of journal lines in memory; above it, `keep` waits for the disk. */
const WAITING_MAX = 4_000_000

type ResultAction = Pick<BulkAction, 'columns' | 'id' | 'tally'>

/** Counts a value; null and the empty text count as no value. */
export function countUp(counts: Map<string, number>, value: unknown): void {
  if (typeof value === 'string' && value !== '') counts.set(value, (counts.get(value) ?? 0) + 1)
}

/**
 * Writes the outcome of each row to the results file and the journal, in the same order. It syncs the results to disk,
 * then writes the journal, so that the journal never lists a result that is missing in the file. A later run truncates
 * results that the journal does not list and requests them again.
 */
export class Results {
  readonly #files: ResultFiles
  readonly #action: ResultAction
  readonly #columns: readonly string[]
  readonly #tallied: Map<string, number>
  #taken: ResultEntry[] = []
  // Encode outcomes early: V8 would move waiting objects to the old generation, where they stay long after their use.
  #waiting = { results: '', errors: '', journal: '' }
  #writing: Promise<void> | undefined
  readonly #closing = new AbortController()
  #error: unknown

  /** @param tallied gets the count of each value in the column that the command tallies */
  constructor(files: ResultFiles, action: ResultAction, tallied: Map<string, number>) {
    this.#files = files
    this.#action = action
    this.#columns = resultColumnsOf(action)
    this.#tallied = tallied
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
    if ('data' in entry) {
      const { columns, id, tally } = this.#action
      const result: Record<string, ResultLine[string]> = { line }
      for (const name in columns) result[name] = columns[name]?.(entry.data, entry.row)
      if (tally !== undefined) countUp(this.#tallied, result[tally])
      waiting.results += encodeLine(this.#columns, this.#files.format, result)
      waiting.journal += encodeEntry({ line, key: entry.key, [id]: result[id] ?? null })
    } else {
      waiting.errors += this.#files.errors.encode(entry.row, entry.failure)
      waiting.journal += encodeEntry({ line, ...defined({ key: entry.key }), code: entry.failure.code })
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
