import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import { codeOf, isMissing } from './error-code.js'
import { syncFolder } from './sync-folder.js'

type FileContent = string | Uint8Array | Iterable<Uint8Array>

interface ReplaceOptions {
  /** Default true: the file gets mode 0600. False: it keeps the mode of the old file, or gets the default mode. */
  readonly isPrivate?: boolean
  /** Default true: calls fsync, so the new content survives a power failure. Use false for a file of a running process. */
  readonly flush?: boolean
  /** Default true: replaces the target of a symbolic link. False: replaces the link. */
  readonly follow?: boolean
}

/**
 * Replaces a file atomically: readers see the old content until all bytes are written. A full disk can shorten a write
 * without an error, so writeFileSync writes the rest (decisions/0005-given-packages.md says which packages do not).
 * @throws errors of the file system and of `refuseForeign`
 */
export function replaceFile(path: string, content: FileContent, options: ReplaceOptions = {}): void {
  const { isPrivate = true, flush = true, follow = true } = options
  const before = follow ? existing(path) : undefined
  if (before !== undefined && isPrivate) refuseForeignFile(path)
  const target = before?.path ?? path
  const draft = writeDraft(target, content, isPrivate, flush)
  try {
    if (before !== undefined && process.geteuid?.() === 0) chownSync(draft, before.uid, before.gid)
    if (before !== undefined && !isPrivate) chmodSync(draft, before.mode & 0o777)
    renameSync(draft, target)
    if (flush) syncFolder(dirname(target))
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/**
 * Checks that `replaceFile` can write a file, before work that would be lost: it writes a draft and removes it.
 * @throws the errors of `replaceFile`
 */
export function checkReplace(path: string, { isPrivate = true }: Pick<ReplaceOptions, 'isPrivate'> = {}): void {
  const target = existing(path)?.path ?? path
  if (isPrivate) refuseForeignFile(path)
  rmSync(writeDraft(target, '', isPrivate, false))
}

/**
 * Creates a private file atomically unless it exists: of several concurrent processes the first one wins.
 * @returns false if the file exists
 * @throws errors of the file system
 */
export function createFile(path: string, content: FileContent, flush: boolean): boolean {
  const draft = writeDraft(path, content, true, flush)
  let isNew = true
  try {
    linkSync(draft, path)
  } catch (error) {
    // Only a hard link can fail if the file exists. On a file system without hard links, the last writer wins.
    isNew = codeOf(error) !== 'EEXIST'
    if (isNew) renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
  // Sync the folder even for another process's file, whose name may not be on disk yet.
  if (flush) syncFolder(dirname(path))
  return isNew
}

function existing(path: string) {
  try {
    const real = realpathSync(path)
    const stats = statSync(real)
    // A rename would put a file in the place of a device, for every program of the machine.
    if (!stats.isFile())
      throw Object.assign(new Error(`${path} is not a file`), { code: stats.isDirectory() ? 'EISDIR' : 'EINVAL' })
    return { path: real, mode: stats.mode, uid: stats.uid, gid: stats.gid }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/**
 * Refuses to write secrets into a file of another user, who could read them (rules/cli.md#files-with-secrets).
 * @throws an error with the code OWNED_BY_ANOTHER_USER
 */
export function refuseForeign(stats: Stats | undefined): void {
  if (stats === undefined || stats.uid === (process.geteuid?.() ?? stats.uid)) return
  throw Object.assign(new Error('The file belongs to another user'), { code: 'OWNED_BY_ANOTHER_USER' })
}

/** Does the same for the file or symbolic link at a path, if it exists. */
export function refuseForeignFile(path: string): void {
  for (const read of [lstatSync, statSync]) refuseForeign(read(path, { throwIfNoEntry: false }))
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

/** Draft name of this host, before the process id: several hosts may share a folder. */
export const DRAFT_OF_HOST = `.tmp-${hostname()}-`

/** Path of a draft beside the file. */
export const draftOf = (path: string) => `${path}${DRAFT_OF_HOST}${process.pid}-${randomBytes(4).toString('hex')}`

/** Removes drafts that killed writers left; no other writer of the file may be running. */
export function removeDrafts(path: string): void {
  for (const target of new Set([path, existing(path)?.path ?? path])) {
    for (const name of readdirSync(dirname(target))) {
      if (name.startsWith(`${basename(target)}.tmp-`)) rmSync(join(dirname(target), name), { force: true })
    }
  }
}
