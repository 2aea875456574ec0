import type { Row } from '../operation.js'
import { Digest, type Sums } from './digest.js'
import { END_START, ExportUnusable, endLine, type Header, rowStart } from './format.js'
import { parseHeader } from './header.js'
import { linesOf } from './lines.js'
import { PAGE_ROWS } from './session.js'
import { isMoved, type Moved, moved } from './tables.js'

/** Of rows that are written at once. */
const CHARACTERS_MAX = 4 * 1024 * 1024

/** Rows of one table in their order, with the numbers of their lines. */
export interface RowsRead {
  readonly table: Moved
  readonly rows: readonly Row[]
  readonly firstLine: number
  readonly lastLine: number
}

export interface ExportRead {
  readonly header: Header
  /** Ends when the whole file was found as it was written; answers what its last line says. */
  readonly rows: AsyncGenerator<RowsRead, Sums>
}

/** Where the lines of each table are. */
type Places = ReadonlyMap<Moved, { readonly first: number; readonly last: number }>

/**
 * Reads an export bit by bit. What was read counts only when all of it came.
 * @throws ExportUnusable with the line, where it is known
 */
export async function readExport(chunks: AsyncIterable<Uint8Array | string>): Promise<ExportRead> {
  const numbered = each(chunks)
  const first = await numbered.next()
  if (first.done) throw new ExportUnusable('it is empty')
  const header = parseHeader(first.value.text)
  return { header, rows: readRows(header, first.value.text, numbered) }
}

interface Line {
  readonly number: number
  readonly text: string
}

async function* each(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line, undefined> {
  for await (const { first, texts } of linesOf(chunks)) {
    for (const [index, text] of texts.entries()) yield { number: first + index, text }
  }
}

async function* readRows(
  header: Header,
  headerText: string,
  lines: AsyncGenerator<Line, undefined>,
): AsyncGenerator<RowsRead, Sums> {
  const digest = new Digest()
  digest.addHeader(`${headerText}\n`)
  const places = new Map<Moved, { first: number; last: number }>()
  let batch = new Rows()
  let before = ''
  let place = 0
  let last = 1
  for await (const { number, text } of lines) {
    last = number
    if (text.startsWith(END_START)) {
      if (batch.length > 0) yield batch.taken(digest, places)
      const sums = digest.end()
      if (`${text}\n` !== endLine(sums)) throw new ExportUnusable(whatChanged(text, number, sums, header, places))
      const after = await lines.next()
      if (!after.done) throw new ExportUnusable(`line ${after.value.number} comes after the end`)
      return sums
    }
    if (text === before) throw new ExportUnusable(`line ${number} is the one before it once more`)
    before = text
    const { table, row } = parseRow(text, number)
    if (batch.length > 0 && (table !== batch.table || batch.isFull)) {
      yield batch.taken(digest, places)
      batch = new Rows()
    }
    if (moved.indexOf(table) < place) throw new ExportUnusable(`line ${number} is not where it was written`)
    place = moved.indexOf(table)
    batch.add(table, row, text, number)
  }
  throw new ExportUnusable(`it was cut off after line ${last}`)
}

/** Rows of one table that follow each other. */
class Rows {
  table: Moved | undefined
  readonly #rows: Row[] = []
  #text = ''
  #first = 0

  get length(): number {
    return this.#rows.length
  }

  get isFull(): boolean {
    return this.#rows.length >= PAGE_ROWS || this.#text.length >= CHARACTERS_MAX
  }

  add(table: Moved, row: Row, text: string, line: number): void {
    if (this.#rows.length === 0) this.#first = line
    this.table = table
    this.#rows.push(row)
    this.#text += `${text}\n`
  }

  taken(digest: Digest, places: Map<Moved, { first: number; last: number }>): RowsRead {
    const table = this.table as Moved
    const last = this.#first + this.#rows.length - 1
    digest.addRows(table, this.#text, this.#rows.length)
    places.set(table, { first: places.get(table)?.first ?? this.#first, last })
    return { table, rows: this.#rows, firstLine: this.#first, lastLine: last }
  }
}

const tableIn = /^\{"table":"([a-z_]+)","row":\{/

function parseRow(text: string, line: number): { readonly table: Moved; readonly row: Row } {
  const table = tableIn.exec(text)?.[1]
  if (isMoved(table) && text.endsWith('}}')) {
    try {
      const row: unknown = JSON.parse(text.slice(rowStart(table).length, -1))
      if (isRow(row)) return { table, row }
    } catch {
      // Said below, without a word of the line.
    }
  }
  throw new ExportUnusable(`line ${line} is no row of a table that this version knows`)
}

function isRow(value: unknown): value is Row {
  const isValue = (it: unknown) => it === null || typeof it === 'string' || Number.isSafeInteger(it)
  return typeof value === 'object' && value !== null && Object.values(value).every(isValue)
}

/** Which part of a file is not as it was written, by its last line. @param sums of what was read */
function whatChanged(text: string, line: number, sums: Sums, header: Header, places: Places): string {
  const said = parseSums(text)
  for (const name of moved) {
    const [read, written, promised] = [sums.rows[name] ?? 0, said?.rows?.[name] ?? 0, header.rows[name] ?? 0]
    const place = places.get(name)
    const lines = place === undefined ? '' : ` (lines ${place.first} to ${place.last})`
    if (said !== undefined && read !== written) return `${name} has ${read} rows${lines}, and had ${written}`
    if (said === undefined && read !== promised) return `${name} has ${read} rows${lines}, and had ${promised}`
    if (said !== undefined && sums.sha256[name] !== said.sha256?.[name])
      return `the rows of ${name}${lines} are not those that were written`
  }
  return said !== undefined && said.total_sha256 !== sums.total_sha256
    ? 'line 1 is not as it was written'
    : `line ${line}, the last, is not as it was written`
}

function parseSums(text: string): Partial<Sums> | undefined {
  try {
    return JSON.parse(text.slice(END_START.length, -1)) as Partial<Sums>
  } catch {
    return undefined
  }
}
