import { type Stats, statSync } from 'node:fs'
import process from 'node:process'
import { shellWord } from '../../contract/values/shell-word.js'
import { platform } from '../../files/platform.js'

const WRITE = 0o022
const OTHERS_WRITE = 0o002

/**
 * Permission bits of group and others for a file or folder; 0 on Windows, or if the path is missing or inaccessible.
 */
export function othersMay(path: string, { hasOwners } = platform): number {
  if (!hasOwners) return 0
  try {
    return statSync(path).mode & 0o077
  } catch {
    return 0
  }
}

export const othersMayWrite = (path: string) => (othersMay(path) & WRITE) !== 0

/** Warns of a folder in which other users could replace files; undefined if they cannot. */
export const writableFolder = (dir: string) =>
  othersMayWrite(dir) ? `Other users of this machine can write to ${dir}. Close it: ${closing(dir, '700')}` : undefined

/**
 * Explains why another user may have written a file or folder; undefined if only the current user can have written it.
 * Root must own a file like any other user. On Windows, where Node reports neither owner nor mode, the result is always
 * undefined.
 */
export function foreignness(
  path: string,
  stats: Pick<Stats, 'uid' | 'gid' | 'mode'>,
  { hasOwners } = platform,
): string | undefined {
  if (!hasOwners) return undefined
  const { uid, mode } = stats
  if (uid !== process.geteuid?.()) return `${path} belongs to another user (uid ${uid}).`
  const foreign = isPrivateGroup(stats) ? OTHERS_WRITE : WRITE
  if ((mode & foreign) === 0) return undefined
  return `Other users of this machine can write to ${path}. Close it: chmod go-w ${shellWord(path)}`
}

/** True for the private group of the user, who may write to files created with umask 002 (RULES.md#project-file). */
const isPrivateGroup = ({ uid, gid }: Pick<Stats, 'uid' | 'gid'>) =>
  uid !== 0 && gid === uid && uid === process.geteuid?.() && gid === process.getegid?.()

/** The shell command that removes other users' permissions from a path. */
export function closing(path: string, mode: '600' | '700'): string {
  return `chmod ${mode} ${shellWord(path)}`
}
