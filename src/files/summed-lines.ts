// JSON lines that each end with a CRC-32 of the text before it, so that a reader detects every damaged line.
import { closeSync, openSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { readAt, requireFile } from './read-file.js'

const SUM = ',"sum":"'
const SUM_BYTES = SUM.length + 8 + 2
const LF = 10
const WINDOW_BYTES = 1024 * 1024
/** Maximum line length: a line with a 1 MiB body in base64 and 16 KiB of headers has 1.4 MiB. */
const LINE_BYTES_MAX = 2 * 1024 * 1024

/** Encodes an object as a line with its checksum, which must be the last member in every version of a file format. */
export function withSum(line: object): string {
  const text = JSON.stringify(line).slice(0, -1)
  return `${text}${sumOf(text)}\n`
}

const sumOf = (text: string | Buffer) => `${SUM}${crc32(text).toString(16).padStart(8, '0')}"}`

/** Parses a line without its line feed; undefined if the checksum does not match. */
export function parseLine(line: Buffer): Record<string, unknown> | undefined {
  const at = line.length - SUM_BYTES
  if (at < 0 || line.toString('latin1', at) !== sumOf(line.subarray(0, at))) return undefined
  return JSON.parse(`${line.toString('utf8', 0, at)}}`)
}

interface SummedLine {
  /** Line number, from 1. */
  readonly number: number
  readonly offset: number
  /** The bytes of the line without its line feed. */
  readonly bytes: Buffer
  /** True for the last line of a file if it has no line feed. */
  readonly isTorn: boolean
}

/**
 * Reads the lines of a file in bounded memory.
 * @throws errors of the file system and of `requireFile`
 */
export function* readLines(path: string): Generator<SummedLine> {
  requireFile(path)
  const file = openSync(path, 'r')
  try {
    let rest: Buffer = Buffer.alloc(0)
    let [offset, number] = [0, 1]
    for (;;) {
      const more = readAt(file, offset + rest.length, WINDOW_BYTES)
      if (more.length === 0) break
      const window = rest.length === 0 ? more : Buffer.concat([rest, more])
      let at = 0
      for (let end = window.indexOf(LF); end !== -1; end = window.indexOf(LF, at)) {
        yield { number, offset: offset + at, bytes: window.subarray(at, end), isTorn: false }
        number += 1
        at = end + 1
      }
      // Skip the start of a line that is too long; the checksum of its remaining bytes then fails.
      if (window.length - at > LINE_BYTES_MAX) at = window.length
      rest = window.subarray(at)
      offset += at
    }
    if (rest.length > 0) yield { number, offset, bytes: rest, isTorn: true }
  } finally {
    closeSync(file)
  }
}
