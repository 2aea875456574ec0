import { readCsv } from './csv-records.js'
import type { Line } from './lines.js'
import { readLines } from './lines.js'
import type { BadRow, ReadRow } from './row.js'
import { bad, members, rowOf, suggestionFor, UnreadableInput } from './row.js'

export type BulkFormat = 'csv' | 'ndjson'

/** By the ending of its name; undefined for any other, as for standard input. */
export function formatOf(path: string): BulkFormat | undefined {
  if (/\.csv$/i.test(path)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : undefined
}

/**
 * The rows of an input in blocks, each with its line; those that cannot be sent with their fault.
 * @param format undefined: NDJSON when it begins with a brace, else CSV
 * @throws UnreadableInput
 */
export async function* readRows(
  chunks: AsyncIterable<Uint8Array | string>,
  format: BulkFormat | undefined,
): AsyncGenerator<readonly ReadRow[]> {
  const blocks = readLines(chunks)
  const { value: first, done } = await blocks.next()
  if (done && format === undefined) throw new UnreadableInput('The input is empty.')
  if (done && format === 'ndjson') return
  const isJson = format === 'ndjson' || (format === undefined && /^\s*\{/.test(first?.[0]?.text ?? ''))
  const all = again(first ?? [], blocks)
  yield* isJson ? jsonRows(all) : csvRows(all)
}

async function* again(first: Line[], rest: AsyncGenerator<Line[]>): AsyncGenerator<Line[]> {
  yield first
  yield* rest
}

async function* jsonRows(blocks: AsyncIterable<Line[]>): AsyncGenerator<ReadRow[]> {
  for await (const block of blocks) yield block.filter(({ text }) => text?.trim() !== '').map(jsonRow)
}

function jsonRow({ number, text, fault }: Line): ReadRow {
  if (text === undefined) return bad(number, fault?.code ?? 'MALFORMED', fault?.message ?? 'cannot be read')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return bad(number, 'MALFORMED', 'is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return bad(number, 'MALFORMED', 'must be a JSON object')
  }
  const unknown = Object.keys(value).find((name) => !(members as readonly string[]).includes(name))
  return unknown === undefined
    ? rowOf(number, { ...value })
    : bad(number, 'MEMBER_UNKNOWN', `${JSON.stringify(unknown)} is no member of a row${meant(unknown)}`)
}

async function* csvRows(blocks: AsyncIterable<Line[]>): AsyncGenerator<ReadRow[]> {
  let header: readonly string[] | undefined
  for await (const records of readCsv(blocks)) {
    const rows: ReadRow[] = []
    for (const record of records) {
      if ('fault' in record && header === undefined) throw noHeader(record)
      if ('fault' in record) rows.push(record)
      else if (header === undefined) header = headerOf(record.values)
      // What spreadsheets leave below a table.
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

/** @throws UnreadableInput for what is missing, unknown or named twice */
function headerOf(values: readonly string[]): readonly string[] {
  const isKnown = (name: string) =>
    (members as readonly string[]).includes(name) || (name.startsWith(METADATA) && name !== METADATA)
  const line = values.join(',')
  if (values.length === 1 && /[;\t]/.test(line)) {
    throw new UnreadableInput('The columns of the header are not separated by commas.', headerHint)
  }
  for (const name of values.filter((it) => !isKnown(it))) {
    const otherwise = `Take it out, or name it ${METADATA}${name.trim() || 'NAME'} to send it along.`
    throw new UnreadableInput(`The header has an unknown column ${JSON.stringify(name)}${meant(name)}.`, otherwise)
  }
  for (const name of members.slice(0, 2)) {
    if (!values.includes(name)) throw new UnreadableInput(`The header has no column ${name}.`, headerHint)
  }
  const twice = values.find((name, i) => values.indexOf(name) !== i)
  if (twice !== undefined) throw new UnreadableInput(`The header has the column ${twice} twice.`)
  if (values.includes('metadata') && values.some((name) => name.startsWith(METADATA))) {
    throw new UnreadableInput('The header has metadata both as one column and as several.')
  }
  return values
}

function meant(name: string): string {
  const suggestion = suggestionFor(name)
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

/** What is no JSON is no object either, which is what the row is then told. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
