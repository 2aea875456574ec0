import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import process from 'node:process'

/** What a draft of a file begins with, in the same folder. */
export const draftsOf = (path: string) => `${path}.tmp-`

/**
 * Puts a file in the place of another: whole or not at all, on the disk when this is over, readable by its owner alone.
 * A link stays one. Until every byte is written the old file is what others read: a full disk cuts a write short
 * without an error (seen in atomically 2.0, which then takes the part for the whole).
 * @throws what the file system says
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const before = existsSync(path) ? { path: realpathSync(path), ...statSync(path) } : undefined
  const target = before?.path ?? path
  const draft = `${draftsOf(target)}${process.pid}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    try {
      writeFileSync(file, content)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    // Of another user, as under sudo: it stays theirs.
    if (before !== undefined && before.uid !== process.geteuid?.()) chownSync(draft, before.uid, before.gid)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
