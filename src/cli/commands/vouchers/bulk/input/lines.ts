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

/**
 * Splits UTF-8 input into blocks of lines.
 * @throws UnreadableInput for UTF-16
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<ReadLine[]> {
  let held: Buffer = Buffer.alloc(0)
  let number = 1
  let begun = false
  let skipping = false
  for await (const chunk of chunks) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    held = Buffer.concat([held, bytes])
    if (!begun) {
      if (held.length < 3) continue
      begun = true
      held = withoutMark(held)
    }
    if (skipping) {
      const end = held.indexOf(LF)
      if (end < 0) {
        held = Buffer.alloc(0)
        continue
      }
      held = held.subarray(end + 1)
      skipping = false
      number += 1
    }
    const end = held.lastIndexOf(LF)
    if (end >= 0) {
      const lines = linesOf(held.subarray(0, end), number)
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
  if (!begun) held = withoutMark(held)
  if (held.length > 0 && !skipping) yield linesOf(held, number)
}

/** Drops a UTF-8 byte order mark. @throws UnreadableInput for a UTF-16 mark: Excel saves "Unicode Text" as UTF-16 */
function withoutMark(start: Buffer): Buffer {
  const [first, second] = start
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw new UnreadableInput('The input is UTF-16.', 'Save it as UTF-8, in a spreadsheet as "CSV UTF-8".')
  }
  return first === 0xef && second === 0xbb && start[2] === 0xbf ? start.subarray(3) : start
}

const tooLarge = (number: number) => bad(number, 'TOO_LARGE', 'is larger than 1 MiB')

function linesOf(block: Buffer, first: number): ReadLine[] {
  const lines: ReadLine[] = []
  for (let at = 0; at <= block.length; ) {
    const found = block.indexOf(LF, at)
    const end = found < 0 ? block.length : found
    lines.push(lineOf(block.subarray(at, end), first + lines.length))
    at = end + 1
  }
  return lines
}

function lineOf(bytes: Buffer, line: number): ReadLine {
  if (bytes.length > ROW_BYTES_MAX) return tooLarge(line)
  return isUtf8(bytes) ? { line, text: bytes.toString('utf8') } : bad(line, 'NOT_UTF8', 'is not UTF-8')
}
