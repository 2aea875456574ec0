import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'

/** https://www.sqlite.org/fileformat2.html#walformat */
const HEAD_BYTES = 32
const FRAME_HEAD_BYTES = 24
const MAGIC = 0x377f0682

/** Two 32-bit words. */
type Sum = readonly [number, number]

/**
 * Whether the journal of a killed server is damaged where later commits show that it was whole before. SQLite reads
 * a journal up to the first frame that is not right, as it must after a power failure, and forgets what follows. But
 * a commit is on the disk before the next one begins. So a commit behind such a frame, with a frame of yet another one
 * behind it, proves that the frame was whole once. What ends in its last commits proves nothing, nor does a journal
 * that was cut off.
 * @param path of the database
 */
export function isJournalDamaged(path: string): boolean {
  const journal = `${path}-wal`
  if (!existsSync(journal)) return false
  const fd = openSync(journal, 'r')
  try {
    const before = fstatSync(fd)
    const isDamaged = hasCommitsBehindDamage(fd, before.size)
    const after = fstatSync(fd)
    // A running server writes it: that it has the folder is said later.
    return isDamaged && after.size === before.size && after.mtimeMs === before.mtimeMs
  } finally {
    closeSync(fd)
  }
}

function hasCommitsBehindDamage(fd: number, size: number): boolean {
  const head = read(fd, 0, HEAD_BYTES)
  if (head === null) return false
  const pageBytes = head.getUint32(8)
  const isLittleEndian = (head.getUint32(0) & 1) === 0
  const salts = sumAt(head, 16)
  let kept = sumAt(head, 24)
  const isHead = (head.getUint32(0) & ~1) === MAGIC && same(sum([0, 0], head, 0, 24, isLittleEndian), kept)
  // It lies in one sector and is on the disk before any frame, so that no power failure leaves half of one.
  if (!isHead) return size > HEAD_BYTES && !isZero(head)
  let isWhole = true
  /** Behind the damage: the last frame was right and ended a commit. */
  let endedCommit = false
  for (let at = HEAD_BYTES; ; at += FRAME_HEAD_BYTES + pageBytes) {
    const frame = read(fd, at, FRAME_HEAD_BYTES + pageBytes)
    if (frame === null) return false
    const seed = kept
    kept = sumAt(frame, 16)
    const isRight =
      same(sumAt(frame, 8), salts) &&
      same(sum(sum(seed, frame, 0, 8, isLittleEndian), frame, FRAME_HEAD_BYTES, frame.byteLength, isLittleEndian), kept)
    if (isWhole) isWhole = isRight
    else if (isRight && endedCommit) return true
    endedCommit = !isWhole && isRight && frame.getUint32(4) !== 0
  }
}

/** Null where the file ends before. */
function read(fd: number, at: number, length: number): DataView | null {
  const bytes = new Uint8Array(length)
  return readSync(fd, bytes, 0, length, at) === length ? new DataView(bytes.buffer) : null
}

const sumAt = (view: DataView, at: number): Sum => [view.getUint32(at), view.getUint32(at + 4)]
const same = (a: Sum, b: Sum) => a[0] === b[0] && a[1] === b[1]

function isZero(view: DataView): boolean {
  return new Uint8Array(view.buffer).every((it) => it === 0)
}

function sum(seed: Sum, view: DataView, from: number, to: number, isLittleEndian: boolean): Sum {
  let [a, b] = seed
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, isLittleEndian) + b) >>> 0
    b = (b + view.getUint32(at + 4, isLittleEndian) + a) >>> 0
  }
  return [a, b]
}
