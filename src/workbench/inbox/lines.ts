// The lines of an inbox file (DECISIONS.md#inbox-files). A line is one JSON object that begins with the format
// version and ends with the CRC-32 of everything before it, so that each line proves its own integrity.
import { crc32 } from 'node:zlib'
import { SUM, withoutSum, withSum } from '../../files/summed-lines.js'

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

/** Parses only the summary of a line; undefined if the line is damaged. */
export function summaryOf(line: Buffer): LineSummary | undefined {
  const whole = withoutSum(line)
  if (whole === undefined) return undefined
  const end = whole.indexOf(HEADERS)
  return JSON.parse(`${whole.toString('utf8', 0, end === -1 ? whole.length : end)}}`)
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
