// The lines of an inbox file (src/contract/DECISIONS.md, "Inbox files"). A line is one JSON object that begins with its
// version and ends with the CRC-32 of all before it, so that any line tells whether it is what was written.
import { crc32 } from 'node:zlib'
import { readSync } from 'node:fs'

export type InboxVerdict = 'ok' | 'duplicate' | 'refused'

/** A request as it arrived. */
export interface RecordedDelivery {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  /** Path and query as requested. */
  readonly url: string
  /** Names and values in turn, as received; each character stands for one byte. */
  readonly headers: readonly string[]
  readonly verdict: InboxVerdict
  /** Why it was refused, or `id_reused`. */
  readonly reason: string | null
  /** Digits; null when the delivery is not verified. */
  readonly update_id: string | null
  readonly type: string | null
  readonly body: Buffer
}

/** What the sender of a delivery, or who replayed it, got for it. */
export interface RecordedResponse {
  /** Id of the delivery. */
  readonly of: string
  readonly at: number
  /** Null when the sender got no response, as with `--respond timeout`. */
  readonly status: number | null
  readonly duration_ms: number
  /** Where the delivery was forwarded; null without an application. */
  readonly to: string | null
  /** What went wrong, for a person. */
  readonly error: string | null
  /** True when a person replayed the delivery. */
  readonly replay: boolean
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** The first RESPONSE_BYTES_MAX of `body_bytes`. */
  readonly body: Buffer
  readonly body_bytes: number
}

/** The first line of a file. */
export interface FileHead {
  readonly program: typeof PROGRAM
  /** Name of the process that writes the file. */
  readonly writer: string
}

export type InboxRecord =
  | { readonly kind: 'file'; readonly value: FileHead }
  | { readonly kind: 'delivery'; readonly id: string; readonly value: RecordedDelivery }
  | { readonly kind: 'response'; readonly value: RecordedResponse }

/** What a list of deliveries takes from a line: all that stands before the headers. */
export type LineSummary =
  | ({ readonly v: number; readonly kind: 'file' } & FileHead)
  | ({ readonly v: number; readonly kind: 'delivery'; readonly id: string } & Omit<RecordedDelivery, Long> &
      BodySummary)
  | ({ readonly v: number; readonly kind: 'response' } & Omit<RecordedResponse, Long>)

interface BodySummary {
  readonly body_bytes: number
  /** CRC-32: the same bytes, to a reader of the summary. */
  readonly body_crc: number
}

type Long = 'headers' | 'body'

export const PROGRAM = 'voucherctl inbox'
export const VERSION = 1
export const RESPONSE_BYTES_MAX = 64 * 1024

const START = '{"v":'
const PROGRAM_MEMBER = `"program":"${PROGRAM}"`
const TORN_HEAD = `${START}${VERSION},"kind":"file",${PROGRAM_MEMBER}`
/** Not in any string: its quotes would be escaped there. */
const HEADERS = ',"headers":['
const SUM = ',"sum":"'
const SUM_BYTES = SUM.length + 8 + 2
const LF = 10
const WINDOW_BYTES = 1024 * 1024
/** Above any line: a body of 1 MiB in base64 and 16 KiB of headers, twice, where a damaged line end joins two lines. */
const LINE_BYTES_MAX = 4 * 1024 * 1024

export function encodeLine(record: InboxRecord): string {
  const { kind } = record
  if (kind === 'file') return withSum({ v: VERSION, kind, ...record.value })
  const { headers, body, ...summary } = record.value
  const long = { headers, body: body.toString('base64') }
  if (kind === 'response') return withSum({ v: VERSION, kind, ...summary, ...long })
  return withSum({
    v: VERSION,
    kind,
    id: record.id,
    ...summary,
    body_bytes: body.length,
    body_crc: crc32(body),
    ...long,
  })
}

/** Of any version: what stands between the version and the sum may change, this may not. */
export function withSum(line: object): string {
  const text = JSON.stringify(line).slice(0, -1)
  return `${text}${sumOf(text)}\n`
}

const sumOf = (text: string | Buffer) => `${SUM}${crc32(text).toString(16).padStart(8, '0')}"}`

/** The summary of a line without its end; undefined when the line is not what was written. */
export function summaryOf(line: Buffer): LineSummary | undefined {
  const at = line.length - SUM_BYTES
  if (at < 0 || line.toString('latin1', at) !== sumOf(line.subarray(0, at))) return undefined
  const end = line.indexOf(HEADERS)
  return JSON.parse(`${line.toString('utf8', 0, end === -1 ? at : end)}}`)
}

/** All of a line; undefined when it is not what was written. */
export function decodeLine(line: Buffer): InboxRecord | undefined {
  const summary = summaryOf(line)
  if (summary === undefined) return undefined
  if (summary.kind === 'file') return { kind: 'file', value: { program: summary.program, writer: summary.writer } }
  const long: { readonly headers: readonly string[]; readonly body: string } = JSON.parse(line.toString('utf8'))
  const body = Buffer.from(long.body, 'base64')
  if (summary.kind === 'delivery') {
    const { v, kind, id, body_bytes, body_crc, ...others } = summary
    return { kind, id, value: { ...others, headers: long.headers, body } }
  }
  const { v, kind, ...others } = summary
  return { kind, value: { ...others, headers: long.headers, body } }
}

/**
 * The lines that are whole in a damaged one: a damaged line end joins a line with the next one, or is the last byte of
 * the file.
 */
export function* salvage(damaged: Buffer): Generator<{ at: number; bytes: number; line: LineSummary }> {
  for (let at = 0; at !== -1; ) {
    const next = damaged.indexOf(START, at + 1)
    for (const end of next === -1 ? [damaged.length, damaged.length - 1] : [next, next - 1]) {
      const line = summaryOf(damaged.subarray(at, end))
      if (line !== undefined) yield { at, bytes: end - at, line }
    }
    at = next
  }
}

/** True for a first line that this program wrote, whole, torn, or with one of its bytes damaged. */
export function isOwnHead(line: Buffer): boolean {
  return line.includes(PROGRAM_MEMBER) || line.includes(SUM) || TORN_HEAD.startsWith(line.toString('latin1'))
}

export interface RawLine {
  /** From 1 on. */
  readonly number: number
  readonly offset: number
  /** Without the line end. */
  readonly bytes: Buffer
  /** The end of a file that does not end with a line end. */
  readonly isTorn: boolean
}

/** The lines of a file; memory stays at a few windows. The bytes of a line are valid until the next one is read. */
export function* readLines(file: number): Generator<RawLine> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  let number = 1
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
    // Of a line that is too long only the end is read: its sum does not fit.
    if (window.length - at > LINE_BYTES_MAX) at = window.length
    rest = window.subarray(at)
    offset += at
  }
  if (rest.length > 0) yield { number, offset, bytes: rest, isTorn: true }
}

/** Up to this many bytes: fewer at the end of the file. */
export function readAt(file: number, offset: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let read = 0
  while (read < bytes) {
    const more = readSync(file, buffer, read, bytes - read, offset + read)
    if (more === 0) break
    read += more
  }
  return buffer.subarray(0, read)
}
