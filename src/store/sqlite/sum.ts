import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

/** Up to this size a sum is taken, so that a start or an end waits about a second for it. */
const SUMMED_BYTES_MAX = 1024 ** 3
const READ_BYTES = 1024 ** 2

/** Lies beside the database while no server has it, in the form of sha256sum(1): `sha256sum -c` checks a copy too. */
export const sumPathOf = (path: string) => `${path}.sha256`

/**
 * SQLite has no checksums in its file: a byte that changes inside a value would be served. The end of a server
 * therefore leaves a sum of the whole file, which the next start compares and takes away before anything is written.
 * Asked before SQLite opens the file, since closing a file of its own would drop SQLite's lock on it (POSIX).
 * @returns `unknown` without a sum: after a crash, or in a file from before there were any
 */
export function compareSum(path: string): 'unknown' | 'same' | 'other' {
  const kept = readSum(path)
  if (kept === null || !existsSync(path)) return 'unknown'
  const fd = openSync(path, 'r')
  try {
    const { size } = statSync(path)
    const isSame = size <= SUMMED_BYTES_MAX && sumOf(fd) === kept
    // A server that has taken the folder meanwhile has taken the sum away.
    if (readSum(path) !== kept) return 'unknown'
    return isSame ? 'same' : 'other'
  } finally {
    closeSync(fd)
  }
}

/** For good, before the file changes: a power failure may bring an empty one back, which says nothing. */
export function dropSum(path: string): void {
  if (!existsSync(sumPathOf(path))) return
  writeFileSync(sumPathOf(path), '', { flush: true })
  rmSync(sumPathOf(path), { force: true })
}

/**
 * While SQLite holds the file, whose journal is empty by now.
 * @returns what to call after SQLite has closed it
 */
export function writeSum(path: string): () => void {
  const journal = `${path}-wal`
  if (existsSync(journal) && statSync(journal).size > 0) return () => {}
  if (statSync(path).size > SUMMED_BYTES_MAX) return () => {}
  const fd = openSync(path, 'r')
  try {
    writeFileSync(sumPathOf(path), `${sumOf(fd)}  ${basename(path)}\n`, { mode: 0o600, flush: true })
  } catch {
    // A full disk: the next start finds no sum.
    rmSync(sumPathOf(path), { force: true })
  }
  return () => closeSync(fd)
}

/** Null where there is none, or one that was not written to its end. */
function readSum(path: string): string | null {
  try {
    return /^([0-9a-f]{64}) {2}.+\n$/.exec(readFileSync(sumPathOf(path), 'utf8'))?.[1] ?? null
  } catch {
    return null
  }
}

function sumOf(fd: number): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(READ_BYTES)
  for (let at = 0; ; ) {
    const read = readSync(fd, chunk, 0, chunk.length, at)
    if (read === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, read))
    at += read
  }
}
