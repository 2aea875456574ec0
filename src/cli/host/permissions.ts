import { type Stats, statSync } from 'node:fs'
import process from 'node:process'
import { platform } from '../../files/platform.js'
import { shellWord } from '../../values/shell-word.js'

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
 * True if another user may have written a file or folder. Root must own it like any other user. On Windows, where Node
 * reports neither owner nor mode, the result is always false.
 */
export function isForeign(stats: Pick<Stats, 'uid' | 'gid' | 'mode'>, { hasOwners } = platform): boolean {
  if (!hasOwners) return false
  const foreign = isPrivateGroup(stats) ? OTHERS_WRITE : WRITE
  return stats.uid !== process.geteuid?.() || (stats.mode & foreign) !== 0
}

/** True for the private group of the user, which may write to files created with umask 002. */
const isPrivateGroup = ({ uid, gid }: Pick<Stats, 'uid' | 'gid'>) =>
  uid !== 0 && gid === uid && uid === process.geteuid?.() && gid === process.getegid?.()

/** The shell command that removes other users' permissions from a path. */
export function closing(path: string, mode: '600' | '700'): string {
  return `chmod ${mode} ${shellWord(path)}`
}
