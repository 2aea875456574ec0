import { asMembers } from '../../../values/json.js'
import { readCsv } from './csv-records.js'
import { type ReadLine, readLines } from './lines.js'
import { type BadRow, bad, isBad, type ReadRow, type RowMembers, rowOf, UnreadableInput, uniqueIn } from './row.js'
import { refuseSpreadsheetValues } from './spreadsheet-values.js'

export type BulkFormat = 'csv' | 'ndjson'

/** Format of a file by its extension; undefined for an unknown extension. */
export function formatOf(path: string): BulkFormat | undefined {
  if (/\.csv$/i.test(path)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : undefined
}

/**
 * Reads input rows in blocks; a row that cannot be used contains the reason.
 * @param format if undefined, input that starts with a brace is NDJSON, and any other is CSV
 * @throws UnreadableInput
 */
export async function* readRows(
  chunks: AsyncIterable<Uint8Array | string>,
  format: BulkFormat | undefined,
  known: RowMembers,
): AsyncGenerator<readonly ReadRow[]> {
  const blocks = readLines(chunks)
  const { value: first, done } = await blocks.next()
  if (done && format === undefined) throw new UnreadableInput('The input is empty.')
  const [line] = first ?? []
  const isJson = format === 'ndjson' || (format === undefined && line && 'text' in line && /^\s*\{/.test(line.text))
  const rows = isJson ? jsonRows(again(first ?? [], blocks), known) : csvRows(first ?? [], blocks, known)
  yield* known.ids === undefined ? rows : refuseSpreadsheetValues(rows, known.ids)
}

/** Excel's line `sep=;`. A spreadsheet that saves the file with another delimiter keeps the line as a cell. */
const SEP = /^"?sep=([^"\w\r])"?([,;\t]?)[,;\t]*\r?$/i

/** Returns the delimiter of the `sep=` line, which it drops, or the most frequent one of the header outside quotes. */
function delimited(lines: readonly ReadLine[], given: string | undefined) {
  const texts = lines.map((it) => ('text' in it ? it.text : ''))
  const [, named, cell] = SEP.exec(texts[0] ?? '') ?? []
  const [header = ''] = /.*\S.*/.exec(texts.join('\n').replace(/"[^"]*"/g, '')) ?? []
  const countOf = (it: string) => header.split(it).length
  const [most] = [',', ';', '\t'].sort((a, b) => countOf(b) - countOf(a))
  const said = given ?? (cell || named)
  return { said, delimiter: said ?? most, lines: lines.slice(named === undefined ? 0 : 1) }
}

async function* again(first: readonly ReadLine[], rest: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  yield [...first]
  yield* rest
}

/** Marks rows that repeat the id or credential of an earlier row (rules/cli.md#bulk-commands). */
export async function* markDuplicates(
  blocks: AsyncIterable<readonly ReadRow[]>,
  known: RowMembers,
): AsyncGenerator<readonly ReadRow[]> {
  const lines = new Map<string, number>()
  const check = (row: ReadRow) => {
    if (isBad(row)) return row
    const { line, values } = row
    const name = uniqueIn(known, values)
    const value = `${name} ${values[name]}`
    const first = lines.get(value)
    if (first !== undefined) return { ...bad(line, 'DUPLICATE', `has the ${name} of line ${first}`), values }
    lines.set(value, line)
    return row
  }
  for await (const block of blocks) yield block.map(check)
}

const membersOf = ({ needed, optional, metadata, ignored }: RowMembers) => ({
  named: [...needed.flat(), ...optional, ...(metadata ? ['metadata'] : [])],
  ignored,
})

async function* jsonRows(blocks: AsyncIterable<ReadLine[]>, known: RowMembers): AsyncGenerator<ReadRow[]> {
  for await (const block of blocks)
    yield block.filter((it) => 'fault' in it || it.text.trim() !== '').map((it) => jsonRow(it, known))
}

function jsonRow(read: ReadLine, known: RowMembers): ReadRow {
  if ('fault' in read) return read
  const { line } = read
  let value: unknown
  try {
    value = JSON.parse(read.text)
  } catch {
    return bad(line, 'MALFORMED', 'is not JSON')
  }
  const row = asMembers(value)
  if (row === undefined) return bad(line, 'MALFORMED', 'must be a JSON object')
  const { named, ignored } = membersOf(known)
  const unknown = Object.keys(row).find((name) => !named.includes(name) && !ignored.includes(name))
  const close = unknown && meant(unknown, known)
  if (unknown === undefined || (close === undefined && lacksCodes(Object.keys(row), known)))
    return rowOf(line, row, known)
  const fix = close === undefined ? '' : `, did you mean ${close}?`
  return bad(line, 'MEMBER_UNKNOWN', `${JSON.stringify(unknown)} is no member of a row${fix}`)
}

async function* csvRows(
  first: readonly ReadLine[],
  blocks: AsyncGenerator<ReadLine[]>,
  known: RowMembers,
): AsyncGenerator<ReadRow[]> {
  const { said, delimiter, lines } = delimited(first, known.delimiter)
  let header: readonly string[] | undefined
  for await (const records of readCsv(again(lines, blocks), delimiter)) {
    const rows: ReadRow[] = []
    for (const record of records) {
      if ('fault' in record && header === undefined) throw noHeader(record, known)
      if ('fault' in record) rows.push(record)
      else if (header === undefined) header = headerOf(record.values, { ...known, delimiter: said })
      // Skip rows without any value, which spreadsheets leave below a table.
      else if (record.values.some((it) => it !== '')) rows.push(csvRow(header, record, known))
    }
    yield rows
  }
  if (header === undefined) throw new UnreadableInput('The input has no header line.', headerHint(known))
}

/** Lists the columns that a header needs, and those that it may have. */
function headerHint({ needed, optional, metadata }: RowMembers): string {
  const others = [...optional, ...(metadata ? [`${METADATA}NAME`] : [])]
  const more = others.length === 0 ? '' : `; optional: ${others.join(',')}`
  return `The first line of CSV names the columns: ${needed.map((names) => names.join(' or ')).join(',')}${more}`
}

/** True if the members belong to another kind of file, such as results of redeem-many, which hold no codes. */
function lacksCodes(names: readonly string[], known: RowMembers): boolean {
  const isCode = (it?: string) => it === 'redeem_code' || it === 'qr_token'
  return known.needed[0]?.some(isCode) === true && !names.some((it) => isCode(it) || isCode(meant(it, known)))
}

const noHeader = ({ line, fault }: BadRow, known: RowMembers) =>
  new UnreadableInput(`The header on line ${line} ${fault.message}.`, headerHint(known))

function otherDelimiter(known: RowMembers): UnreadableInput {
  const words = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' }[known.delimiter ?? '']
  const message = `The columns of the header are not separated by ${words ?? 'commas, semicolons or tabs'}.`
  return new UnreadableInput(message, `${words ? 'Leave out --delimiter or the line sep=. ' : ''}${headerHint(known)}`)
}

const METADATA = 'metadata.'

/** Checks the column names of a CSV header. @throws UnreadableInput for a missing, unknown or duplicate column */
function headerOf(values: readonly string[], known: RowMembers): readonly string[] {
  const { named, ignored } = membersOf(known)
  const isMetadata = (name: string) => known.metadata && name.startsWith(METADATA) && name !== METADATA
  const isKnown = (name: string) => named.includes(name) || ignored.includes(name) || isMetadata(name)
  if (values.length === 1 && /[,;\t|]/.test(values[0] ?? '')) throw otherDelimiter(known)
  // Spreadsheets add empty columns at the end.
  const names = values.slice(0, values.findLastIndex((it) => it.trim() !== '') + 1)
  const unknown = names.filter((it) => !isKnown(it))
  if (unknown.some(mayBeSecret)) throw new UnreadableInput('The input has no header line.', headerHint(known))
  if (lacksCodes(values, known)) {
    const columns = known.needed[0]?.join(' or ')
    throw new UnreadableInput(`The input has no codes: its header has no column ${columns}.`, headerHint(known))
  }
  for (const name of unknown) {
    const close = meant(name, known)
    const otherwise = known.metadata ? `, or name it ${METADATA}${name.trim() || 'NAME'} to send it along` : ''
    throw new UnreadableInput(
      `The header has an unknown column ${JSON.stringify(name)}.`,
      `${close === undefined ? `Remove the column${otherwise}` : `Rename the column to ${close}, or remove it`}. ${headerHint(known)}`,
    )
  }
  for (const group of known.needed) {
    if (group.some((name) => values.includes(name))) continue
    throw new UnreadableInput(`The header has no column ${group.join(' or ')}.`, headerHint(known))
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new UnreadableInput(`The header has the column ${twice} twice.`, headerHint(known))
  if (values.includes('metadata') && values.some((name) => name.startsWith(METADATA))) {
    throw new UnreadableInput('The header has metadata both as one column and as several.', headerHint(known))
  }
  return values
}

/** True for a text in the form of a redeem code or QR token, which a message must not repeat. */
const mayBeSecret = (name: string) => name.length > 15 && (/\d/.test(name) || !/[a-z]/.test(name))

/** Suggests the column whose name is spelled almost like this one. */
function meant(name: string, known: RowMembers): string | undefined {
  const bare = (it: string) => it.toLowerCase().replace(/[^a-z]/g, '')
  return membersOf(known).named.find((it) => bare(it) === bare(name)) ?? known.spellings[bare(name)]
}

function csvRow(
  header: readonly string[],
  { line, values }: { line: number; values: readonly string[] },
  known: RowMembers,
): ReadRow {
  if (values.length !== header.length) {
    return bad(
      line,
      'MALFORMED',
      `has ${values.length} ${values.length === 1 ? 'value' : 'values'} where the header has ${header.length}`,
    )
  }
  const row: Record<string, unknown> = {}
  const metadata: [string, string][] = []
  for (const [i, name] of header.entries()) {
    const value = values[i] as string
    if (name.trim() === '' && value.trim() !== '')
      return bad(line, 'MALFORMED', 'has a value in a column without a name')
    if (!name.startsWith('metadata')) row[name] = value
    else if (value === '') continue
    else if (name !== 'metadata') metadata.push([name.slice(METADATA.length), value])
    else row.metadata = parsed(value)
  }
  return rowOf(line, metadata.length === 0 ? row : { ...row, metadata: Object.fromEntries(metadata) }, known)
}

/** Parses metadata; malformed JSON stays text, so that the row is refused because metadata must be an object. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
