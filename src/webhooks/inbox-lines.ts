// The lines of an inbox file (contract/DECISIONS.md#inbox-files). A line is one JSON object that begins with the format
// version and ends with the CRC-32 of everything before it, so that each line proves its own integrity.
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
  /** Alternating names and values, as received; each character stands for one byte. */
  readonly headers: readonly string[]
  readonly verdict: InboxVerdict
  /** Reason of the refusal, or `id_reused`. */
  readonly reason: string | null
  /** Decimal digits; null if the delivery is not verified. */
  readonly update_id: string | null
  readonly type: string | null
  readonly body: Buffer
}

/** The response to a delivery or to its replay. */
export interface RecordedResponse {
  /** Id of the delivery. */
  readonly of: string
  readonly at: number
  /** Null if the sender got no response, for example with `--respond timeout`. */
  readonly status: number | null
  readonly duration_ms: number
  /** URL to which the delivery was forwarded; null without an application. */
  readonly to: string | null
  /** Description of the failure, for display. */
  readonly error: string | null
  /** True when a person replayed the delivery. */
  readonly replay: boolean
  /** Alternating names and values. */
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

/** The members of a line that a list shows: those before the headers. */
export type LineSummary =
  | ({ readonly v: number; readonly kind: 'file' } & FileHead)
  | ({ readonly v: number; readonly kind: 'delivery'; readonly id: string } & Omit<RecordedDelivery, Long> &
      BodySummary)
  | ({ readonly v: number; readonly kind: 'response' } & Omit<RecordedResponse, Long>)

interface BodySummary {
  readonly body_bytes: number
  /** CRC-32 of the body, to compare bodies without reading them. */
  readonly body_crc: number
}

type Long = 'headers' | 'body'

export const PROGRAM = 'voucherctl inbox'
export const VERSION = 1
export const RESPONSE_BYTES_MAX = 64 * 1024

const START = '{"v":'
const PROGRAM_MEMBER = `"program":"${PROGRAM}"`
const TORN_HEAD = `${START}${VERSION},"kind":"file",${PROGRAM_MEMBER}`
/** Cannot occur inside a JSON string, where its quotes would be escaped. */
const HEADERS = ',"headers":['
const SUM = ',"sum":"'
const SUM_BYTES = SUM.length + 8 + 2
const LF = 10
const WINDOW_BYTES = 1024 * 1024
/** Maximum length of a line: a 1 MiB body in base64 with 16 KiB of headers, twice, as a damaged line end joins two lines. */
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

/** Builds a line. Version and checksum must stay in these places in every version of the format. */
export function withSum(line: object): string {
  const text = JSON.stringify(line).slice(0, -1)
  return `${text}${sumOf(text)}\n`
}

const sumOf = (text: string | Buffer) => `${SUM}${crc32(text).toString(16).padStart(8, '0')}"}`

/** Parses only the summary of a line; undefined if the line is damaged. */
export function summaryOf(line: Buffer): LineSummary | undefined {
  const at = line.length - SUM_BYTES
  if (at < 0 || line.toString('latin1', at) !== sumOf(line.subarray(0, at))) return undefined
  const end = line.indexOf(HEADERS)
  return JSON.parse(`${line.toString('utf8', 0, end === -1 ? at : end)}}`)
}

/** Parses a whole line; undefined if it is damaged. */
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
 * Finds the intact lines inside a damaged one: a damaged line end joins a line with the next one, or is the last byte of
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

/** True for a first line that this program wrote, even if it is incomplete or has a damaged byte. */
export function isOwnHead(line: Buffer): boolean {
  return line.includes(PROGRAM_MEMBER) || line.includes(SUM) || TORN_HEAD.startsWith(line.toString('latin1'))
}

export interface RawLine {
  /** Line number, from 1. */
  readonly number: number
  readonly offset: number
  /** The bytes without the line end. */
  readonly bytes: Buffer
  /** True for the last line of a file if it has no line end. */
  readonly isTorn: boolean
}

/** Reads the lines of a file in bounded memory. The bytes of a line are valid until the next line is read. */
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
    // Only the end of a line that is too long is read; its checksum fails.
    if (window.length - at > LINE_BYTES_MAX) at = window.length
    rest = window.subarray(at)
    offset += at
  }
  if (rest.length > 0) yield { number, offset, bytes: rest, isTorn: true }
}

/** Reads up to this many bytes; fewer at the end of the file. */
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
