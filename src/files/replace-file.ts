import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { codeOf, isMissing } from './error-code.js'
import { isAlive } from './process-alive.js'

type FileContent = string | Uint8Array | Iterable<Uint8Array>

interface ReplaceOptions {
  /** Default true: mode 0600. False: the mode of the replaced file, or what the umask leaves. */
  readonly isPrivate?: boolean
  /** Default true: on the disk when the call returns. False for a file that may end with its process. */
  readonly flush?: boolean
  /** Default true: a link stays a link, and a private file keeps its owner. False: the new file replaces either. */
  readonly follow?: boolean
}

/**
 * Replaces a file atomically: others read the old content until every byte is written. A full disk can cut a write
 * short without an error (atomically 2.1.1 takes the part for the whole).
 * @throws the error of the file system
 */
export function replaceFile(path: string, content: FileContent, options: ReplaceOptions = {}): void {
  const { isPrivate = true, flush = true, follow = true } = options
  const before = follow ? existing(path) : undefined
  const target = before?.path ?? path
  const draft = writeDraft(target, content, isPrivate, flush)
  try {
    if (before !== undefined && !isPrivate) chmodSync(draft, before.mode & 0o777)
    // Under sudo a private file of the user stays theirs.
    if (before !== undefined && isPrivate && before.uid !== process.geteuid?.()) {
      chownSync(draft, before.uid, before.gid)
    }
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/**
 * Creates a private file atomically unless it exists: processes that do so concurrently all find the file of the first.
 * @throws the error of the file system
 */
export function createFile(path: string, content: string, flush: boolean): void {
  const draft = writeDraft(path, content, true, flush)
  try {
    linkSync(draft, path)
  } catch (error) {
    // A file system without links: the last file wins.
    if (codeOf(error) !== 'EEXIST') return renameSync(draft, path)
  }
  rmSync(draft, { force: true })
}

function existing(path: string) {
  try {
    const real = realpathSync(path)
    const { mode, uid, gid } = statSync(real)
    return { path: real, mode, uid, gid }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function writeDraft(target: string, content: FileContent, isPrivate: boolean, flush: boolean): string {
  const draft = draftOf(target)
  const file = openSync(draft, 'wx', isPrivate ? 0o600 : 0o666)
  try {
    const parts = typeof content === 'string' || content instanceof Uint8Array ? [content] : content
    for (const part of parts) writeFileSync(file, part)
    if (flush) fsyncSync(file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return draft
}

/** A new name beside the file. It contains the host, because a shared folder shows drafts of processes of other hosts. */
export const draftOf = (path: string) => `${path}.tmp-${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`

/** Removes drafts that killed writers left. @param which abandoned: only those of ended processes of this host */
export function removeDrafts(path: string, which: 'all' | 'abandoned'): void {
  const ofThisHost = `.tmp-${hostname()}-`
  const isAbandoned = (mark: string) => {
    const pid = mark.startsWith(ofThisHost) ? /^(\d+)-[0-9a-f]{8}$/.exec(mark.slice(ofThisHost.length))?.[1] : undefined
    return pid !== undefined && !isAlive(Number(pid))
  }
  for (const target of new Set([path, existing(path)?.path ?? path])) {
    for (const name of readdirSync(dirname(target))) {
      const mark = name.startsWith(basename(target)) ? name.slice(basename(target).length) : ''
      if (!mark.startsWith('.tmp-') || (which === 'abandoned' && !isAbandoned(mark))) continue
      rmSync(join(dirname(target), name), { force: true })
    }
  }
}
