import { isUtf8 } from 'node:buffer'
import type { Row } from '../operation.js'
import { migrations } from '../sqlite/migrations.js'
import { type ExportedTable, exportedTables, isExportedTable } from '../tables.js'
import { type Checksums, Digest, END_START, ExportUnusable, endLine, FORMAT, type Header, rowStart } from './format.js'
import { PAGE_ROWS } from './session.js'

/** Maximum length of a line. Rows have at most a few hundred kilobytes; a longer line is not from an export. */
const LINE_BYTES_MAX = 64 * 1024 * 1024
const LF = 0x0a
/** Maximum characters in a batch of rows. */
const CHARACTERS_MAX = 4 * 1024 * 1024

/** Consecutive rows of one table with their line numbers in the export. */
export interface RowBatch {
  readonly table: ExportedTable
  readonly rows: readonly Row[]
  readonly firstLine: number
  readonly lastLine: number
}

export interface ParsedExport {
  readonly header: Header
  /** Yields the rows; returns the checksums of the last line after verifying the whole file. */
  readonly rows: AsyncGenerator<RowBatch, Checksums>
}

type Places = ReadonlyMap<ExportedTable, { readonly first: number; readonly last: number }>

/**
 * Reads an export as a stream. The rows are verified only after the generator has returned.
 * @throws ExportUnusable with the line if known
 */
export async function readExport(chunks: AsyncIterable<Uint8Array | string>): Promise<ParsedExport> {
  const numbered = linesOf(chunks)
  const first = await numbered.next()
  if (first.done) throw new ExportUnusable('it is empty')
  const header = parseHeader(first.value.text)
  return { header, rows: readRows(header, first.value.text, numbered) }
}

interface Line {
  /** Line number, from 1. */
  readonly number: number
  /** Text of the line without its line feed. */
  readonly text: string
}

async function* readRows(
  header: Header,
  headerText: string,
  lines: AsyncGenerator<Line, undefined>,
): AsyncGenerator<RowBatch, Checksums> {
  const digest = new Digest()
  digest.addHeader(`${headerText}\n`)
  const places = new Map<ExportedTable, { first: number; last: number }>()
  let batch = new RowBatchBuilder()
  let before = ''
  let place = 0
  let last = 1
  for await (const { number, text } of lines) {
    last = number
    if (text.startsWith(END_START)) {
      if (batch.length > 0) yield batch.finish(digest, places)
      const sums = digest.end()
      if (`${text}\n` !== endLine(sums))
        throw new ExportUnusable(describeDifference(text, number, sums, header, places))
      const after = await lines.next()
      if (!after.done) throw new ExportUnusable(`line ${after.value.number} comes after the end`)
      return sums
    }
    if (text === before) throw new ExportUnusable(`line ${number} is the one before it once more`)
    before = text
    const { table, row } = parseRow(text, number)
    if (batch.length > 0 && (table !== batch.table || batch.isFull)) {
      yield batch.finish(digest, places)
      batch = new RowBatchBuilder()
    }
    if (exportedTables.indexOf(table) < place) throw new ExportUnusable(`line ${number} is not where it was written`)
    place = exportedTables.indexOf(table)
    batch.add(table, row, text, number)
  }
  throw new ExportUnusable(`it was cut off after line ${last}`)
}

class RowBatchBuilder {
  table: ExportedTable | undefined
  readonly #rows: Row[] = []
  #text = ''
  #first = 0

  get length(): number {
    return this.#rows.length
  }

  get isFull(): boolean {
    return this.#rows.length >= PAGE_ROWS || this.#text.length >= CHARACTERS_MAX
  }

  add(table: ExportedTable, row: Row, text: string, line: number): void {
    if (this.#rows.length === 0) this.#first = line
    this.table = table
    this.#rows.push(row)
    this.#text += `${text}\n`
  }

  finish(digest: Digest, places: Map<ExportedTable, { first: number; last: number }>): RowBatch {
    const table = this.table as ExportedTable
    const last = this.#first + this.#rows.length - 1
    digest.addRows(table, this.#text, this.#rows.length)
    places.set(table, { first: places.get(table)?.first ?? this.#first, last })
    return { table, rows: this.#rows, firstLine: this.#first, lastLine: last }
  }
}

const tableIn = /^\{"table":"([a-z_]+)","row":\{/

function parseRow(text: string, line: number): { readonly table: ExportedTable; readonly row: Row } {
  const table = tableIn.exec(text)?.[1]
  if (isExportedTable(table) && text.endsWith('}}')) {
    try {
      const row: unknown = JSON.parse(text.slice(rowStart(table).length, -1))
      if (isRow(row)) return { table, row }
    } catch {
      // Report the error below, which does not quote the line.
    }
  }
  throw new ExportUnusable(`line ${line} is no row of a table that this version knows`)
}

function isRow(value: unknown): value is Row {
  const isValue = (it: unknown) => it === null || typeof it === 'string' || Number.isSafeInteger(it)
  return typeof value === 'object' && value !== null && Object.values(value).every(isValue)
}

/** Describes how the last line differs from the rows of the file. @param sums checksums of the rows read */
function describeDifference(text: string, line: number, sums: Checksums, header: Header, places: Places): string {
  const lastLine = parseSums(text)
  for (const name of exportedTables) {
    const [read, written, promised] = [sums.rows[name] ?? 0, lastLine?.rows?.[name] ?? 0, header.rows[name] ?? 0]
    const place = places.get(name)
    const lines = place === undefined ? '' : ` (lines ${place.first} to ${place.last})`
    if (lastLine !== undefined && read !== written) return `${name} has ${read} rows${lines}, and had ${written}`
    if (lastLine === undefined && read !== promised) return `${name} has ${read} rows${lines}, and had ${promised}`
    if (lastLine !== undefined && sums.sha256[name] !== lastLine.sha256?.[name])
      return `the rows of ${name}${lines} are not those that were written`
  }
  return lastLine !== undefined && lastLine.total_sha256 !== sums.total_sha256
    ? 'line 1 is not as it was written'
    : `line ${line}, the last, is not as it was written`
}

function parseSums(text: string): Partial<Checksums> | undefined {
  try {
    return JSON.parse(text.slice(END_START.length, -1)) as Partial<Checksums>
  } catch {
    return undefined
  }
}

const isText = (it: unknown): it is string => typeof it === 'string'
const isCount = (it: unknown): it is number => Number.isSafeInteger(it) && (it as number) > 0

function parseHeader(text: string): Header {
  const header = parseMark(text)
  if (header.format !== FORMAT) {
    throw new ExportUnusable(
      isCount(header.format)
        ? `it was written by a newer voucherctl (${header.version}, format ${header.format}); import it with that version`
        : 'line 1 names no format',
    )
  }
  const { version, schema, dialect, exported_at: at, keys, transport_keys: sealed, rows } = header
  const sound =
    [version, at].every(isText) &&
    isCount(schema) &&
    (dialect === 'sqlite' || dialect === 'postgres') &&
    (sealed === null || isText(sealed)) &&
    Array.isArray(keys) &&
    keys.every((it) => isText(it?.key_id) && isText(it?.key_check)) &&
    typeof rows === 'object' &&
    rows !== null &&
    Object.entries(rows).every(([name, count]) => isExportedTable(name) && isCount(count))
  if (!sound) throw new ExportUnusable('line 1 is not as it was written')
  if (schema > migrations.length) {
    throw new ExportUnusable(
      `it was written by a newer voucherctl (${version}, schema ${schema}; this one knows ${migrations.length}); import it with that version`,
    )
  }
  return header as Header
}

function parseMark(text: string): Partial<Header> {
  if (text.endsWith('\r')) throw new ExportUnusable('its line ends were changed to CRLF; copy it as it is, as binary')
  try {
    const header: unknown = JSON.parse(text)
    if (typeof header === 'object' && (header as Partial<Header> | null)?.voucherctl === 'export')
      return header as Header
  } catch {
    // Report the error below.
  }
  throw new ExportUnusable('line 1 is not the first line of an export; `voucherctl server export` writes one')
}

/** Splits an export into lines. @throws ExportUnusable for invalid UTF-8 and for a compressed file */
async function* linesOf(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line, undefined> {
  let held: Buffer[] = []
  let bytes = 0
  let number = 1
  const take = (block: Buffer): string[] => {
    if (!isUtf8(block)) throw new ExportUnusable(`line ${number + firstInvalidLine(block)} is not UTF-8`)
    return block.toString('utf8').split('\n')
  }
  for await (const chunk of chunks) {
    const buffer =
      typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    if (number === 1 && bytes === 0 && buffer[0] === 0x1f && buffer[1] === 0x8b) {
      throw new ExportUnusable('it is compressed; unpack it into a pipe: gunzip -c')
    }
    const end = buffer.lastIndexOf(LF)
    if (end < 0) {
      held.push(buffer)
      bytes += buffer.length
    } else {
      for (const text of take(Buffer.concat([...held, buffer.subarray(0, end)]))) yield { number: number++, text }
      held = [buffer.subarray(end + 1)]
      bytes = buffer.length - end - 1
    }
    if (bytes > LINE_BYTES_MAX) throw new ExportUnusable(`line ${number} is longer than any that an export has`)
  }
  if (bytes > 0) for (const text of take(Buffer.concat(held))) yield { number: number++, text }
  return undefined
}

/** Counts the lines before the first line that is not valid UTF-8. */
function firstInvalidLine(block: Buffer): number {
  for (let at = 0, line = 0; ; line++) {
    const end = block.indexOf(LF, at)
    if (end < 0 || !isUtf8(block.subarray(at, end))) return line
    at = end + 1
  }
}
