// What a segment file of the inbox holds, byte by byte. A file begins with MAGIC and 8 random bytes of its own; then
// frames follow: length and CRC-32 of the payload (both u32, big endian), and the payload, which is a kind, the length
// of the JSON that describes the record, that JSON, and the body as it came.
import { readSync } from 'node:fs'
import { crc32 } from 'node:zlib'

export const MAGIC = Buffer.from('VCINBOX1')
export const HEADER_BYTES = 16
const FRAME_HEAD_BYTES = 8
const PAYLOAD_HEAD_BYTES = 5
/** Above any record: a body of 1 MiB, headers of 64 KiB, and what JSON makes of them. */
const PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
const WINDOW_BYTES = 1024 * 1024

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

/** What the application answered, once it did. */
export interface RecordedAnswer {
  /** Id of the delivery. */
  readonly of: string
  readonly at: number
  /** What the sender was answered with; null when it was left without an answer, as `--respond timeout` has it. */
  readonly status: number | null
  readonly duration_ms: number
  /** Where it was forwarded; null without an application. */
  readonly to: string | null
  /** What went wrong, for a person. */
  readonly error: string | null
  /** True when it was sent again by hand. */
  readonly replay: boolean
}

/** In place of the deliveries at the beginning of a segment that were removed: the others keep their numbers. */
export interface Removed {
  readonly deliveries: number
}

export type InboxRecord =
  | { readonly kind: 'delivery'; readonly value: RecordedDelivery }
  | { readonly kind: 'answer'; readonly value: RecordedAnswer }
  | { readonly kind: 'removed'; readonly value: Removed }

const kinds = { delivery: 1, answer: 2, removed: 3 } as const

export function encodeFrame({ kind, value }: InboxRecord): Buffer {
  const { body, ...described } = { body: undefined, ...value }
  const json = Buffer.from(JSON.stringify(described))
  const payloadBytes = PAYLOAD_HEAD_BYTES + json.length + (body?.length ?? 0)
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payloadBytes)
  frame.writeUInt8(kinds[kind], FRAME_HEAD_BYTES)
  frame.writeUInt32BE(json.length, FRAME_HEAD_BYTES + 1)
  json.copy(frame, FRAME_HEAD_BYTES + PAYLOAD_HEAD_BYTES)
  body?.copy(frame, FRAME_HEAD_BYTES + PAYLOAD_HEAD_BYTES + json.length)
  frame.writeUInt32BE(payloadBytes, 0)
  frame.writeUInt32BE(crc32(frame.subarray(FRAME_HEAD_BYTES)), 4)
  return frame
}

/** The record of a whole frame; undefined for bytes that are none, or not what was written. */
export function decodeFrame(frame: Buffer): InboxRecord | undefined {
  if (frame.length < FRAME_HEAD_BYTES + PAYLOAD_HEAD_BYTES || frame.length !== frameBytes(frame)) return undefined
  const payload = frame.subarray(FRAME_HEAD_BYTES)
  if (crc32(payload) !== frame.readUInt32BE(4)) return undefined
  const jsonBytes = payload.readUInt32BE(1)
  const json = payload.subarray(PAYLOAD_HEAD_BYTES, PAYLOAD_HEAD_BYTES + jsonBytes)
  const value: unknown = JSON.parse(json.toString('utf8'))
  if (payload[0] === kinds.answer) return { kind: 'answer', value: value as RecordedAnswer }
  if (payload[0] === kinds.removed) return { kind: 'removed', value: value as Removed }
  const body = Buffer.from(payload.subarray(PAYLOAD_HEAD_BYTES + jsonBytes))
  return { kind: 'delivery', value: { ...(value as Omit<RecordedDelivery, 'body'>), body } }
}

/** Length of the frame that begins here; undefined when its head is not whole or cannot be one. */
function frameBytes(from: Buffer): number | undefined {
  if (from.length < FRAME_HEAD_BYTES) return undefined
  const payloadBytes = from.readUInt32BE(0)
  if (payloadBytes < PAYLOAD_HEAD_BYTES || payloadBytes > PAYLOAD_BYTES_MAX) return undefined
  return FRAME_HEAD_BYTES + payloadBytes
}

export interface Frame {
  readonly offset: number
  readonly bytes: number
  readonly record: InboxRecord
}

/** The frames from an offset on, up to the first that is torn or damaged; memory stays at a few windows. */
export function* readFrames(file: number, from: number): Generator<Frame> {
  let offset = from
  let bytes = WINDOW_BYTES
  for (;;) {
    const window = readAt(file, offset, bytes)
    let at = 0
    for (;;) {
      const length = frameBytes(window.subarray(at))
      if (length === undefined || at + length > window.length) break
      const record = decodeFrame(window.subarray(at, at + length))
      if (record === undefined) return
      yield { offset: offset + at, bytes: length, record }
      at += length
    }
    const isWhole = window.length === bytes
    if (!isWhole) return
    // A frame that is longer than the window is read with a larger one.
    if (at === 0 && bytes > PAYLOAD_BYTES_MAX) return
    bytes = at === 0 ? 2 * PAYLOAD_BYTES_MAX : WINDOW_BYTES
    offset += at
  }
}

/** Up to so many bytes: fewer at the end of the file. */
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
