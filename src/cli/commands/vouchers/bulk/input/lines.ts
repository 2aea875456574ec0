import { isUtf8 } from 'node:buffer'
import { type BadRow, bad, UnreadableInput } from './row.js'

/** A line without its line feed; a carriage return before the line feed is included. */
export interface TextLine {
  /** Line number, from 1. */
  readonly line: number
  readonly text: string
}

export type ReadLine = TextLine | BadRow

/** Maximum bytes of a row, so that input without line feeds does not fill the memory. */
export const ROW_BYTES_MAX = 1024 * 1024

const LF = 0x0a
const CR = 0x0d

/**
 * Splits UTF-8 input into blocks of lines, which end like the first: with LF, CRLF or a lone CR.
 * @throws UnreadableInput for UTF-16
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<ReadLine[]> {
  let held: Buffer = Buffer.alloc(0)
  let number = 1
  let lineEnd: number | undefined
  let skipping = false
  for await (const chunk of chunks) {
    held = Buffer.concat([held, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    lineEnd ??= lineEndIn(held)
    if (lineEnd === undefined) continue
    if (skipping) {
      const end = held.indexOf(lineEnd)
      held = end < 0 ? Buffer.alloc(0) : held.subarray(end + 1)
      if (end < 0) continue
      skipping = false
      number += 1
    }
    const end = held.lastIndexOf(lineEnd)
    if (end >= 0) {
      const lines = linesOf(held.subarray(0, end), number, lineEnd)
      number += lines.length
      held = held.subarray(end + 1)
      yield lines
    }
    if (held.length > ROW_BYTES_MAX) {
      yield [tooLarge(number)]
      skipping = true
      held = Buffer.alloc(0)
    }
  }
  if (held.length > 0 && !skipping) yield linesOf(held, number, lineEnd ?? LF)
}

/** Byte that ends the first line; undefined if it has not been read. A lone CR inside quotes ends no line. */
function lineEndIn(bytes: Buffer): number | undefined {
  const [cr, lf] = [bytes.indexOf(CR), bytes.indexOf(LF)]
  if (cr < 0 || (lf >= 0 && lf <= cr + 1)) return lf >= 0 || bytes.length > ROW_BYTES_MAX ? LF : undefined
  if (bytes.toString('latin1', 0, cr).split('"').length % 2 === 0) return LF
  return cr + 1 < bytes.length ? CR : undefined
}

/**
 * Drops a UTF-8 byte order mark of the first line.
 * @throws UnreadableInput for UTF-16, in which Excel saves "Unicode Text": it has a mark, or a zero byte in each Latin letter
 */
function withoutMark(header: Buffer): Buffer {
  const [first, second] = header
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (hasMark || header.includes(0))
    throw new UnreadableInput('The input is UTF-16.', 'Save it as UTF-8, in a spreadsheet as "CSV UTF-8".')
  return first === 0xef && second === 0xbb && header[2] === 0xbf ? header.subarray(3) : header
}

const tooLarge = (number: number) => bad(number, 'TOO_LARGE', 'is larger than 1 MiB')

function linesOf(block: Buffer, first: number, lineEnd: number): ReadLine[] {
  const lines: ReadLine[] = []
  for (let at = 0; at <= block.length; ) {
    const found = block.indexOf(lineEnd, at)
    const end = found < 0 ? block.length : found
    lines.push(lineOf(block.subarray(at, end), first + lines.length))
    at = end + 1
  }
  return lines
}

function lineOf(bytes: Buffer, line: number): ReadLine {
  if (bytes.length > ROW_BYTES_MAX) return tooLarge(line)
  const text = line === 1 ? withoutMark(bytes) : bytes
  if (isUtf8(text)) return { line, text: text.toString('utf8') }
  return bad(line, 'NOT_UTF8', 'is not UTF-8: save the file as UTF-8, in a spreadsheet as "CSV UTF-8"')
}
