import { existsSync, readFileSync } from 'node:fs'

const FILE_HEADER = 32
const FRAME_HEADER = 24

/**
 * Counts the frames of SQLite's journal (https://sqlite.org/fileformat2.html#walformat) up to the last commit and
 * behind it. Frames behind it are a transaction that had not ended.
 */
export function walFrames(path: string): { readonly committed: number; readonly uncommitted: number } {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  if (bytes.length < FILE_HEADER) return { committed: 0, uncommitted: 0 }
  const pageBytes = bytes.readUInt32BE(8)
  const salts = bytes.subarray(16, 24)
  let frames = 0
  let committed = 0
  for (let at = FILE_HEADER; at + FRAME_HEADER <= bytes.length; at += FRAME_HEADER + pageBytes) {
    // Frames of an earlier use of the file have other salts.
    if (!bytes.subarray(at + 8, at + 16).equals(salts)) break
    frames += 1
    if (bytes.readUInt32BE(at + 4) !== 0) committed = frames
  }
  return { committed, uncommitted: frames - committed }
}
