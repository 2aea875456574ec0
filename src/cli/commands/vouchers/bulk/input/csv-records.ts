import { parse } from 'csv-parse/sync'
import type { Line } from './lines.js'
import { ROW_BYTES_MAX } from './lines.js'
import type { BadRow } from './row.js'
import { bad } from './row.js'

/** The values of one record, and the line on which it begins. */
interface CsvRecord {
  readonly line: number
  readonly values: readonly string[]
}

/** A record as text; quoted values may go over several lines. */
interface RawRecord {
  readonly line: number
  readonly text: string
}

type Assembled = RawRecord | BadRow

/**
 * Records of CSV (RFC 4180) in blocks. They are told apart by counting quotes, and parsed many at a time; where that
 * fails, one by one, so that a malformed record costs itself alone and has its line. Where a quote never ends, the line
 * on which it begins is malformed and reading goes on with the next one.
 */
export async function* readCsv(blocks: AsyncIterable<Line[]>): AsyncGenerator<(CsvRecord | BadRow)[]> {
  let open: Line[] = []
  for await (const block of blocks) {
    const { records, rest } = assemble(open.length === 0 ? block : [...open, ...block], false)
    open = rest
    yield parseAll(records)
  }
  yield parseAll(assemble(open, true).records)
}

/** @param final no line follows: what is open stays open */
function assemble(lines: readonly Line[], final: boolean): { records: Assembled[]; rest: Line[] } {
  const records: Assembled[] = []
  let at = 0
  while (at < lines.length) {
    const found = recordAt(lines, at, final)
    if (found === undefined) return { records, rest: lines.slice(at) }
    if ('fault' in found.record || found.record.text.trim() !== '') records.push(found.record)
    at += found.lines
  }
  return { records, rest: [] }
}

/** The record that begins with a line, and how many it takes. Undefined when its end has not been read yet. */
function recordAt(
  lines: readonly Line[],
  start: number,
  final: boolean,
): { readonly record: Assembled; readonly lines: number } | undefined {
  const first = lines[start] as Line
  if (first.text === undefined) return { record: faulty(first), lines: 1 }
  if (!isOpen(first.text)) return { record: { line: first.number, text: withoutCr(first.text) }, lines: 1 }
  let text = first.text
  const neverEnds = { record: bad(first.number, 'MALFORMED', 'has a quote that does not end'), lines: 1 }
  for (let i = start + 1; i < lines.length; i += 1) {
    const next = lines[i]?.text
    if (next === undefined) return neverEnds
    text += `\n${next}`
    if (text.length > ROW_BYTES_MAX) return neverEnds
    if (!isOpen(next)) continue
    const record = { line: first.number, text: withoutCr(text) }
    // The quotes of two malformed lines may look like a record of both.
    return 'fault' in parseOne(record) ? neverEnds : { record, lines: i - start + 1 }
  }
  return final ? neverEnds : undefined
}

const faulty = ({ number, fault }: Line) => bad(number, fault?.code ?? 'MALFORMED', fault?.message ?? 'cannot be read')
const withoutCr = (text: string) => (text.endsWith('\r') ? text.slice(0, -1) : text)

/** True when a line has an odd number of quotes: it opens a quoted value, or ends one. */
function isOpen(text: string): boolean {
  let odd = false
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) odd = !odd
  return odd
}

const options = { record_delimiter: '\n', relax_column_count: true, skip_empty_lines: true } as const

function parseAll(records: readonly Assembled[]): (CsvRecord | BadRow)[] {
  const whole = records.filter((it): it is RawRecord => !('fault' in it))
  let values: string[][]
  try {
    values = parse(whole.map(({ text }) => text).join('\n'), options)
  } catch {
    values = []
  }
  if (values.length !== whole.length) return records.map((it) => ('fault' in it ? it : parseOne(it)))
  let i = 0
  return records.map((it) => ('fault' in it ? it : { line: it.line, values: values[i++] as string[] }))
}

function parseOne({ line, text }: RawRecord): CsvRecord | BadRow {
  try {
    const parsed: string[][] = parse(text, options)
    if (parsed.length === 1) return { line, values: parsed[0] as string[] }
  } catch {
    // Its words tell of the parser's own count of lines.
  }
  return bad(line, 'MALFORMED', 'is no CSV: a quote stands beside other text (RFC 4180)')
}
