import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { HEADER_BYTES, encodeFrame, readAt, readFrames } from './inbox-frames.js'
import { SegmentIndex } from './inbox-index.js'
import { claimAll, inboxBytes, inboxFiles, indexPath, newHead, segmentPath, writersIn } from './inbox-segments.js'
import { Inbox } from './inbox.js'

export interface Cleared {
  /** Deliveries. */
  readonly removed: number
  readonly left: number
  readonly bytes: number
  /** Processes that write here: then nothing was removed. */
  readonly writers: readonly number[]
}

const COPY_BYTES = 1024 * 1024

/** Removes every file of the inbox and leaves any other alone. */
export function clearInbox(dir: string): Cleared {
  const left = Inbox.open(dir).count
  const writers = writersIn(dir)
  if (writers.length > 0) return { removed: 0, left, bytes: 0, writers }
  let bytes = 0
  for (const name of inboxFiles(dir)) {
    bytes += statSync(join(dir, name)).size
    rmSync(join(dir, name), { force: true })
  }
  return { removed: left, left: 0, bytes, writers: [] }
}

/**
 * Removes what arrived before a time, in milliseconds since 1970; the others keep their ids. A process that is killed
 * meanwhile leaves each segment as it was or as it is to be.
 */
export function clearBefore(dir: string, time: number): Cleared {
  const { claims, writers } = claimAll(dir)
  const count = () => Inbox.open(dir).count
  if (writers.length > 0) return { removed: 0, left: count(), bytes: 0, writers }
  try {
    const before = { count: count(), bytes: inboxBytes(dir) }
    const last = claims.at(-1)?.segment
    for (const { segment } of claims) cut(dir, segment, time, segment === last)
    const left = count()
    return { removed: before.count - left, left, bytes: before.bytes - inboxBytes(dir), writers: [] }
  } finally {
    for (const claim of claims) claim.release()
  }
}

/** The segment without its first records. The last one stays, however empty: the next takes the number after it. */
function cut(dir: string, segment: number, time: number, isLast: boolean): void {
  const path = segmentPath(dir, segment)
  const { covered } = SegmentIndex.load(dir, segment)
  const file = openSync(path, 'r')
  try {
    const { deliveries, from } = firstSince(file, time)
    if (from === HEADER_BYTES) return
    if (from >= covered && !isLast) rmSync(path)
    else replace(path, file, { from, to: covered }, encodeFrame({ kind: 'removed', value: { deliveries } }))
    rmSync(indexPath(dir, segment), { force: true })
  } finally {
    closeSync(file)
  }
}

/** Where the first record of the time or later begins, and how many deliveries come before it. */
function firstSince(file: number, time: number): { readonly deliveries: number; readonly from: number } {
  let deliveries = 0
  let from = HEADER_BYTES
  for (const { record, offset, bytes } of readFrames(file, HEADER_BYTES)) {
    if (record.kind === 'removed') deliveries = record.value.deliveries
    else if (record.value.at >= time) break
    else if (record.kind === 'delivery') deliveries += 1
    from = offset + bytes
  }
  return { deliveries, from }
}

function replace(path: string, old: number, { from, to }: { from: number; to: number }, first: Buffer): void {
  const aside = `${path}.${randomBytes(4).toString('hex')}`
  const file = openSync(aside, 'wx', 0o600)
  try {
    writeSync(file, Buffer.concat([newHead(), first]))
    for (let at = from; at < to; at += COPY_BYTES) writeSync(file, readAt(old, at, Math.min(COPY_BYTES, to - at)))
    fsyncSync(file)
    renameSync(aside, path)
  } catch (error) {
    rmSync(aside, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}
