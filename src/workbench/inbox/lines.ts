// The lines of an inbox file (DECISIONS.md#inbox-files).
import { parseLine, withSum } from '../../files/summed-lines.js'

export type InboxVerdict = 'ok' | 'duplicate' | 'refused'

interface Message {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Alternating names and values, as received; each character stands for one byte. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** A request as it arrived. */
export interface RecordedDelivery extends Message {
  readonly method: string
  /** Path and query as requested. */
  readonly url: string
  readonly verdict: InboxVerdict
  /** Reason of the refusal, or `id_reused`. */
  readonly reason: string | null
  /** Decimal digits; null if the delivery is not verified. */
  readonly update_id: string | null
  readonly type: string | null
}

/** The response to a delivery or to its replay; `body` has the first 64 KiB of `body_bytes`. */
export interface RecordedResponse extends Message {
  /** Id of the delivery. */
  readonly of: string
  /** Null if the sender got no response, for example with `--respond timeout`. */
  readonly status: number | null
  readonly duration_ms: number
  /** URL to which the delivery was forwarded; null without an application. */
  readonly to: string | null
  /** Description of the failure, for display. */
  readonly error: string | null
  /** True when a person replayed the delivery. */
  readonly replay: boolean
  readonly body_bytes: number
}

export interface DeliveryLine extends RecordedDelivery {
  readonly kind: 'delivery'
  readonly id: string
  readonly body_bytes: number
  /** CRC-32, which finds repeats without reading the bodies. */
  readonly body_crc: number
}

export interface ResponseLine extends RecordedResponse {
  readonly kind: 'response'
}

export type InboxLine = DeliveryLine | ResponseLine
/** A line without its headers and body, which make up most of it. */
export type LineSummary = { readonly v: number } & (Omit<DeliveryLine, Long> | Omit<ResponseLine, Long>)
type Long = 'headers' | 'body'

/** Version of the format, with which every line begins. */
export const VERSION = 1

export const encodeLine = ({ headers, body, ...summary }: InboxLine) =>
  withSum({ v: VERSION, ...summary, headers, body: body.toString('base64') })

/** Undefined if the line is damaged. */
export const summaryOf = (bytes: Buffer) => parseLine(bytes, 'headers') as LineSummary | undefined

/** Decodes a whole line; undefined if it is damaged. */
export function decodeLine(bytes: Buffer): InboxLine | undefined {
  const parsed = parseLine(bytes)
  if (parsed === undefined) return undefined
  const { v, ...line } = parsed
  return { ...line, body: Buffer.from(String(line.body), 'base64') } as InboxLine
}
