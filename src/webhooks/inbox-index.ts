import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { InboxRecord, InboxVerdict } from './inbox-frames.js'
import { HEADER_BYTES, readFrames } from './inbox-frames.js'
import { indexPath, segmentIdentity, segmentPath } from './inbox-segments.js'

const MAGIC = 'VCINDEX2'
const HEAD_BYTES = 40
const DELIVERY_BYTES = 40
const ANSWER_BYTES = 32
/** A tail this short is read again each time rather than written down. */
const SAVE_FROM_BYTES = 256 * 1024

const verdicts: readonly InboxVerdict[] = ['ok', 'duplicate', 'refused']

export interface DeliveryEntry {
  readonly offset: number
  readonly bytes: number
  readonly at: number
  readonly verdict: InboxVerdict
  /** Of the type's name, to leave out what cannot match. */
  readonly typeSum: number
  readonly updateKey: number
  readonly bodySum: number
}

export interface AnswerEntry {
  readonly offset: number
  readonly bytes: number
  readonly segment: number
  readonly number: number
  readonly status: number | null
}

export const sumOf = (text: string | Buffer | null) => (text === null ? 0 : crc32(text))

/** A number for an update_id: itself when it is exact, else a checksum below zero. -0.5 for none. */
export function updateKeyOf(updateId: string | null): number {
  if (updateId === null) return -0.5
  return Number.isSafeInteger(Number(updateId)) ? Number(updateId) : -1 - crc32(updateId)
}

/**
 * Where the records of one segment lie, 40 bytes a delivery. It is made from the segment alone: what is missing at its
 * end is read from there, and an index that is damaged or belongs to another segment is made anew.
 */
export class SegmentIndex {
  readonly segment: number
  readonly #deliveries: Rows
  readonly #answers: Rows
  /** End of the last whole frame. */
  covered: number
  /** The first so many deliveries are no more there. */
  removed: number

  private constructor(segment: number, covered: number, removed = 0, deliveries?: Buffer, answers?: Buffer) {
    this.segment = segment
    this.covered = covered
    this.removed = removed
    this.#deliveries = new Rows(DELIVERY_BYTES, deliveries)
    this.#answers = new Rows(ANSWER_BYTES, answers)
  }

  /** @throws what the file system says when the segment cannot be read */
  static load(dir: string, segment: number): SegmentIndex {
    const file = openSync(segmentPath(dir, segment), 'r')
    try {
      const identity = segmentIdentity(file)
      if (identity === undefined) return new SegmentIndex(segment, 0)
      const known = readIndex(dir, segment, identity)
      // A power failure may have taken what the index still names.
      const isStale = known === undefined || known.covered > fstatSync(file).size
      const index = isStale ? new SegmentIndex(segment, HEADER_BYTES) : known
      const from = index.covered
      for (const frame of readFrames(file, from)) index.#add(frame.record, frame.offset, frame.bytes)
      if (index.covered - from >= SAVE_FROM_BYTES) index.#save(dir, identity)
      return index
    } finally {
      closeSync(file)
    }
  }

  /** Number of the last delivery. */
  get deliveryCount(): number {
    return this.removed + this.#deliveries.count
  }

  has(number: number): boolean {
    return number > this.removed && number <= this.deliveryCount
  }

  get answerCount(): number {
    return this.#answers.count
  }

  /** @param number of one that is there */
  delivery(number: number): DeliveryEntry {
    const row = this.#deliveries.row(number - this.removed - 1)
    return {
      offset: row.readDoubleLE(0),
      at: row.readDoubleLE(8),
      updateKey: row.readDoubleLE(16),
      bytes: row.readUInt32LE(24),
      typeSum: row.readUInt32LE(28),
      bodySum: row.readUInt32LE(32),
      verdict: verdicts[row.readUInt8(36)] ?? 'refused',
    }
  }

  /** @param at from 0 */
  answer(at: number): AnswerEntry {
    const row = this.#answers.row(at)
    return {
      offset: row.readDoubleLE(0),
      bytes: row.readUInt32LE(8),
      segment: row.readUInt32LE(12),
      number: row.readUInt32LE(16),
      status: row.readUInt16LE(20) || null,
    }
  }

  #add(record: InboxRecord, offset: number, bytes: number): void {
    this.covered = offset + bytes
    if (record.kind === 'removed') {
      this.removed = record.value.deliveries
      return
    }
    if (record.kind === 'delivery') {
      const { at, type, update_id, body, verdict } = record.value
      const row = this.#deliveries.add()
      row.writeDoubleLE(offset, 0)
      row.writeDoubleLE(at, 8)
      row.writeDoubleLE(updateKeyOf(update_id), 16)
      row.writeUInt32LE(bytes, 24)
      row.writeUInt32LE(sumOf(type), 28)
      row.writeUInt32LE(sumOf(body), 32)
      row.writeUInt8(verdicts.indexOf(verdict), 36)
      return
    }
    const [segment, number] = record.value.of.split('-').map(Number)
    const row = this.#answers.add()
    row.writeDoubleLE(offset, 0)
    row.writeUInt32LE(bytes, 8)
    row.writeUInt32LE(segment ?? 0, 12)
    row.writeUInt32LE(number ?? 0, 16)
    row.writeUInt16LE(record.value.status ?? 0, 20)
  }

  /** A folder that cannot be written is read all the same. */
  #save(dir: string, identity: string): void {
    const rows = Buffer.concat([this.#deliveries.bytes(), this.#answers.bytes()])
    const head = Buffer.alloc(HEAD_BYTES)
    head.write(MAGIC, 0, 'latin1')
    head.write(identity, 8, 'hex')
    head.writeDoubleLE(this.covered, 16)
    head.writeUInt32LE(this.#deliveries.count, 24)
    head.writeUInt32LE(this.#answers.count, 28)
    head.writeUInt32LE(this.removed, 32)
    head.writeUInt32LE(crc32(rows, crc32(head.subarray(0, 36))), 36)
    const path = indexPath(dir, this.segment)
    const aside = `${path}.${randomBytes(4).toString('hex')}`
    try {
      writeFileSync(aside, Buffer.concat([head, rows]), { mode: 0o600 })
      renameSync(aside, path)
    } catch {
      rmSync(aside, { force: true })
    }
  }

  static parse(segment: number, identity: string, index: Buffer): SegmentIndex | undefined {
    if (index.length < HEAD_BYTES || index.toString('latin1', 0, 8) !== MAGIC) return undefined
    if (index.toString('hex', 8, 16) !== identity) return undefined
    const deliveryBytes = index.readUInt32LE(24) * DELIVERY_BYTES
    const rows = index.subarray(HEAD_BYTES)
    if (rows.length !== deliveryBytes + index.readUInt32LE(28) * ANSWER_BYTES) return undefined
    if (crc32(rows, crc32(index.subarray(0, 36))) !== index.readUInt32LE(36)) return undefined
    const deliveries = rows.subarray(0, deliveryBytes)
    const answers = rows.subarray(deliveryBytes)
    return new SegmentIndex(segment, index.readDoubleLE(16), index.readUInt32LE(32), deliveries, answers)
  }
}

function readIndex(dir: string, segment: number, identity: string): SegmentIndex | undefined {
  try {
    return SegmentIndex.parse(segment, identity, readFileSync(indexPath(dir, segment)))
  } catch {
    return undefined
  }
}

/** Rows of one length in one buffer: an object for each would take three times as much. */
class Rows {
  readonly #rowBytes: number
  #buffer: Buffer
  count: number

  constructor(rowBytes: number, rows: Buffer = Buffer.alloc(0)) {
    this.#rowBytes = rowBytes
    this.#buffer = rows
    this.count = rows.length / rowBytes
  }

  row(at: number): Buffer {
    return this.#buffer.subarray(at * this.#rowBytes, (at + 1) * this.#rowBytes)
  }

  add(): Buffer {
    const needed = (this.count + 1) * this.#rowBytes
    if (needed > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(needed * 2, 64 * this.#rowBytes))
      this.#buffer.copy(larger)
      this.#buffer = larger
    }
    this.count += 1
    return this.row(this.count - 1)
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.count * this.#rowBytes)
  }
}
