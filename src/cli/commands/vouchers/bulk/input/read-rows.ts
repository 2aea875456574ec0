import { asMembers } from '../../../../../secure/json.js'
import { readCsv } from './csv-records.js'
import { type ReadLine, readLines } from './lines.js'
import { type BadRow, bad, ids, isBad, type ReadRow, rowOf, UnreadableInput } from './row.js'

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
): AsyncGenerator<readonly ReadRow[]> {
  const blocks = readLines(chunks)
  const { value: first, done } = await blocks.next()
  if (done && format === undefined) throw new UnreadableInput('The input is empty.')
  const [line] = first ?? []
  const isJson = format === 'ndjson' || (format === undefined && line && 'text' in line && /^\s*\{/.test(line.text))
  const all = again(first ?? [], blocks)
  yield* isJson ? jsonRows(all) : csvRows(all)
}

async function* again(first: ReadLine[], rest: AsyncGenerator<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  yield first
  yield* rest
}

/** Marks rows that have the external_issue_id of an earlier row (DECISIONS.md#rows-of-issue-many). */
export async function* markDuplicates(blocks: AsyncIterable<readonly ReadRow[]>): AsyncGenerator<readonly ReadRow[]> {
  const lines = new Map<string, number>()
  const check = (row: ReadRow) => {
    if (isBad(row)) return row
    const first = lines.get(row.external_issue_id)
    if (first !== undefined) {
      const { metadata: _metadata, ...read } = row
      return { ...read, ...bad(row.line, 'DUPLICATE', `has the external_issue_id of line ${first}`) }
    }
    lines.set(row.external_issue_id, row.line)
    return row
  }
  for await (const block of blocks) yield block.map(check)
}

const members: readonly string[] = [...ids, 'metadata']

async function* jsonRows(blocks: AsyncIterable<ReadLine[]>): AsyncGenerator<ReadRow[]> {
  for await (const block of blocks) yield block.filter((it) => 'fault' in it || it.text.trim() !== '').map(jsonRow)
}

function jsonRow(read: ReadLine): ReadRow {
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
  const unknown = Object.keys(row).find((name) => !members.includes(name))
  if (unknown === undefined) return rowOf(line, row)
  return bad(line, 'MEMBER_UNKNOWN', `${JSON.stringify(unknown)} is no member of a row${meant(unknown)}`)
}

async function* csvRows(blocks: AsyncIterable<ReadLine[]>): AsyncGenerator<ReadRow[]> {
  let header: readonly string[] | undefined
  for await (const records of readCsv(blocks)) {
    const rows: ReadRow[] = []
    for (const record of records) {
      if ('fault' in record && header === undefined) throw noHeader(record)
      if ('fault' in record) rows.push(record)
      else if (header === undefined) header = headerOf(record.values)
      // Skip rows without any value, which spreadsheets leave below a table.
      else if (record.values.some((it) => it !== '')) rows.push(csvRow(header, record))
    }
    yield rows
  }
  if (header === undefined) throw new UnreadableInput('The input has no header line.', headerHint)
}

const headerHint = 'The first line of CSV names the columns: external_issue_id,recipient_user_id'

const noHeader = ({ line, fault }: BadRow) =>
  new UnreadableInput(`The header on line ${line} ${fault.message}.`, headerHint)

const METADATA = 'metadata.'

/** Checks the column names of a CSV header. @throws UnreadableInput for a missing, unknown or duplicate column */
function headerOf(values: readonly string[]): readonly string[] {
  const isKnown = (name: string) => members.includes(name) || (name.startsWith(METADATA) && name !== METADATA)
  const line = values.join(',')
  if (values.length === 1 && /[;\t]/.test(line)) {
    throw new UnreadableInput('The columns of the header are not separated by commas.', headerHint)
  }
  for (const name of values.filter((it) => !isKnown(it))) {
    const otherwise = `Take it out, or name it ${METADATA}${name.trim() || 'NAME'} to send it along.`
    throw new UnreadableInput(`The header has an unknown column ${JSON.stringify(name)}${meant(name)}.`, otherwise)
  }
  for (const name of ids) {
    if (!values.includes(name)) throw new UnreadableInput(`The header has no column ${name}.`, headerHint)
  }
  const twice = values.find((name, i) => values.indexOf(name) !== i)
  if (twice !== undefined) throw new UnreadableInput(`The header has the column ${twice} twice.`)
  if (values.includes('metadata') && values.some((name) => name.startsWith(METADATA))) {
    throw new UnreadableInput('The header has metadata both as one column and as several.')
  }
  return values
}

/** Suggests the column whose name is spelled almost like this one. */
function meant(name: string): string {
  const bare = (it: string) => it.toLowerCase().replace(/[^a-z]/g, '')
  const shortForms: Readonly<Record<string, string>> = {
    externalid: 'external_issue_id',
    recipient: 'recipient_user_id',
  }
  const suggestion = members.find((it) => bare(it) === bare(name)) ?? shortForms[bare(name)]
  return suggestion === undefined ? '' : `, did you mean ${suggestion}?`
}

function csvRow(header: readonly string[], { line, values }: { line: number; values: readonly string[] }): ReadRow {
  if (values.length !== header.length) {
    return bad(line, 'MALFORMED', `has ${values.length} values where the header has ${header.length}`)
  }
  const row: Record<string, unknown> = {}
  const metadata: [string, string][] = []
  for (const [i, name] of header.entries()) {
    const value = values[i] as string
    if (!name.startsWith('metadata')) row[name] = value
    else if (value === '') continue
    else if (name !== 'metadata') metadata.push([name.slice(METADATA.length), value])
    else row.metadata = parsed(value)
  }
  return rowOf(line, metadata.length === 0 ? row : { ...row, metadata: Object.fromEntries(metadata) })
}

/** Parses metadata; malformed JSON stays text, so that the row is refused because metadata must be an object. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
