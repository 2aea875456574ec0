import { statSync } from 'node:fs'
import process from 'node:process'
import { shellWord } from './shell.js'

const WRITE = 0o022

/**
 * What group and others may do with a file or folder, as bits of its mode; 0 where there are no such permissions, and
 * for what is not there or not to be seen.
 */
export function othersMay(path: string): number {
  if (process.platform === 'win32') return 0
  try {
    return statSync(path).mode & 0o077
  } catch {
    return 0
  }
}

export const othersMayWrite = (path: string) => (othersMay(path) & WRITE) !== 0

/** The command that closes it, for a shell. */
export function closing(path: string, mode: '600' | '700'): string {
  return `chmod ${mode} ${shellWord(path)}`
}
