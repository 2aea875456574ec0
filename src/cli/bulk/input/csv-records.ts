import { parse } from 'csv-parse/sync'
import { type ReadLine, ROW_BYTES_MAX, type TextLine } from './lines.js'
import { type BadRow, bad } from './row.js'

/** Values of a CSV record, and the number of its first line in the file. */
const form = { record_delimiter: '\n', relax_column_count: true, skip_empty_lines: true } as const
type Options = typeof form & { readonly delimiter: string }

interface CsvRecord {
  readonly line: number
  readonly values: readonly string[]
}

/**
 * Reads CSV records (RFC 4180) in blocks. It counts quotes to find the end of each record and parses a whole block in
 * one call; if that fails, it parses each record alone, so only the malformed one is bad. If a quote is never closed,
 * only the line with the open quote is bad, and reading continues on the next line.
 */
export async function* readCsv(
  blocks: AsyncIterable<ReadLine[]>,
  delimiter = ',',
): AsyncGenerator<(CsvRecord | BadRow)[]> {
  const options = { ...form, delimiter }
  let open: ReadLine[] = []
  for await (const block of blocks) {
    const { records, rest } = assemble([...open, ...block], false, options)
    open = rest
    yield parseAll(records, options)
  }
  yield parseAll(assemble(open, true, options).records, options)
}

/** Joins lines into records. @param final true if no line follows, so that an open quote cannot be closed */
function assemble(lines: readonly ReadLine[], final: boolean, options: Options) {
  const records: ReadLine[] = []
  let at = 0
  while (at < lines.length) {
    const found = recordAt(lines, at, final, options)
    if (found === undefined) break
    if ('fault' in found.record || found.record.text.trim() !== '') records.push(found.record)
    at += found.lines
  }
  return { records, rest: lines.slice(at) }
}

/** Finds the record that begins at a line, with its number of lines; undefined if more lines are needed. */
function recordAt(
  lines: readonly ReadLine[],
  start: number,
  final: boolean,
  options: Options,
): { readonly record: ReadLine; readonly lines: number } | undefined {
  const first = lines[start] as ReadLine
  if ('fault' in first) return { record: first, lines: 1 }
  const { line } = first
  if (!isOpen(first.text)) return { record: { line, text: withoutCr(first.text) }, lines: 1 }
  let { text } = first
  let lineEnd = lineFeedOf(first)
  const neverEnds = { record: bad(line, 'MALFORMED', 'has a quote that does not end'), lines: 1 }
  for (let i = start + 1; i < lines.length; i += 1) {
    const next = lines[i] as ReadLine
    if ('fault' in next) return neverEnds
    text += `${lineEnd}${next.text}`
    lineEnd = lineFeedOf(next)
    if (text.length > ROW_BYTES_MAX) return neverEnds
    if (!isOpen(next.text)) continue
    const record = { line, text: withoutCr(text) }
    // A quote in one malformed line and a quote in a later one can look like the start and end of one value.
    return 'fault' in parseOne(record, options) ? neverEnds : { record, lines: i - start + 1 }
  }
  return final ? neverEnds : undefined
}

const lineFeedOf = ({ endsInCr }: TextLine) => (endsInCr ? '' : '\n')
const withoutCr = (text: string) => (text.endsWith('\r') ? text.slice(0, -1) : text)

/** True if a line has an odd number of quotes: it opens or closes a value that contains line breaks. */
export const isOpen = (text: string) => text.split('"').length % 2 === 0

function parseAll(records: readonly ReadLine[], options: Options): (CsvRecord | BadRow)[] {
  const texts = records.flatMap((it) => ('fault' in it ? [] : it.text))
  let values: string[][]
  try {
    values = parse(texts.join('\n'), options)
  } catch {
    values = []
  }
  if (values.length !== texts.length) return records.map((it) => ('fault' in it ? it : parseOne(it, options)))
  let i = 0
  return records.map((it) => ('fault' in it ? it : { line: it.line, values: values[i++] as string[] }))
}

function parseOne({ line, text }: TextLine, options: Options): CsvRecord | BadRow {
  try {
    const parsed: string[][] = parse(text, options)
    if (parsed.length === 1) return { line, values: parsed[0] as string[] }
  } catch {
    // Ignore the parser's message: its line numbers count from the start of this record.
  }
  return bad(line, 'MALFORMED', 'is not CSV: a quote stands beside other text (RFC 4180)')
}
