import { isUtf8 } from 'node:buffer'
import { type BadRow, bad, UnreadableInput } from './row.js'

/** A line without its line feed, but with the carriage return at its end. */
export interface TextLine {
  /** Line number, from 1. */
  readonly line: number
  readonly text: string
  /** True for a line that a lone carriage return ends: in quotes, it is part of a value. */
  readonly endsInCr?: boolean
}

export type ReadLine = TextLine | BadRow

/** Maximum bytes of a row, so that input without line feeds does not fill the memory. */
export const ROW_BYTES_MAX = 1024 * 1024

const LF = 0x0a
const CR = 0x0d

/**
 * Splits UTF-8 input into blocks of lines. LF, CRLF and a lone CR end a line, also mixed in one file.
 * @throws UnreadableInput for UTF-16 and binary files
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<ReadLine[]> {
  let held: Buffer = Buffer.alloc(0)
  let number = 1
  let skipping = false
  for await (const chunk of chunks) {
    held = Buffer.concat([held, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    if (skipping) {
      const end = held.toString('latin1').search(/\n|\r[^\n]/)
      // Keep a CR at the end: the next chunk may begin with its LF.
      held = end < 0 ? held.subarray(-1) : held.subarray(end + 1)
      if (end < 0) continue
      skipping = false
      number += 1
    }
    const end = 1 + Math.max(held.lastIndexOf(LF), held.subarray(0, -1).lastIndexOf(CR))
    if (end > 0) {
      const lines = linesOf(held, end, number)
      number += lines.length
      held = held.subarray(end)
      yield lines
    }
    if (held.length > ROW_BYTES_MAX) {
      yield [tooLarge(number)]
      skipping = true
      held = held.subarray(-1)
    }
  }
  if (held.length > 0 && !skipping) yield linesOf(held, held.length, number)
}

/** First bytes, in hexadecimal, of files that are often given in place of their text. */
const OTHER_FILES = [
  ['504b0304', 'a workbook, such as .xlsx or .ods, or another ZIP file', 'Save its sheet as "CSV UTF-8".'],
  ['d0cf11e0', 'a workbook of an old Excel (.xls)', 'Save its sheet as "CSV UTF-8".'],
  ['1f8b', 'compressed with gzip', 'Decompress it first, with gunzip.'],
] as const

/**
 * Drops a UTF-8 byte order mark of the first line.
 * @throws UnreadableInput for binary files, and for UTF-16, in which Excel saves "Unicode Text": it has a mark, or a
 *   zero byte in each Latin letter
 */
function withoutMark(header: Buffer): Buffer {
  const start = header.toString('hex', 0, 4)
  for (const [bytes, what, cure] of OTHER_FILES)
    if (start.startsWith(bytes)) throw new UnreadableInput(`The input is ${what}.`, cure)
  const [first, second] = header
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (hasMark || header.includes(0))
    throw new UnreadableInput('The input is UTF-16.', 'Save it as UTF-8, in a spreadsheet as "CSV UTF-8".')
  return first === 0xef && second === 0xbb && header[2] === 0xbf ? header.subarray(3) : header
}

const tooLarge = (number: number) => bad(number, 'TOO_LARGE', 'is larger than 1 MiB')

/** Splits bytes up to `end`, which is behind a line end or the last byte of the input. */
function linesOf(bytes: Buffer, end: number, first: number): ReadLine[] {
  const lines: ReadLine[] = []
  const find = (byte: number, from: number) => {
    const found = bytes.indexOf(byte, from)
    return found < 0 ? bytes.length : found
  }
  let [lf, cr] = [-1, -1]
  for (let at = 0; at < end; ) {
    if (lf < at) lf = find(LF, at)
    if (cr < at) cr = find(CR, at)
    const endsInCr = cr + 1 < lf
    lines.push(lineOf(bytes.subarray(at, endsInCr ? cr + 1 : lf), first + lines.length, endsInCr))
    at = endsInCr ? cr + 1 : lf + 1
  }
  return lines
}

function lineOf(bytes: Buffer, line: number, endsInCr: boolean): ReadLine {
  if (bytes.length > ROW_BYTES_MAX) return tooLarge(line)
  const text = line === 1 ? withoutMark(bytes) : bytes
  if (isUtf8(text)) return { line, text: text.toString('utf8'), endsInCr }
  return bad(line, 'NOT_UTF8', 'is not UTF-8: save the file as UTF-8, in a spreadsheet as "CSV UTF-8"')
}
