import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf } from './error-code.js'
import { platform } from './platform.js'

/**
 * Makes new names in a folder survive a power failure. Does nothing where a folder cannot be opened or synced: on
 * Windows, without permission to list it, and on some network file systems.
 */
export function syncFolder(path: string, { syncsFolders } = platform): void {
  if (!syncsFolders) return
  let folder: number
  try {
    folder = openSync(path, 'r')
  } catch {
    return
  }
  try {
    fsyncSync(folder)
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error
  } finally {
    closeSync(folder)
  }
}

/** Creates a folder and missing parents with mode 0700, so that they survive a power failure. */
export function makeFolder(path: string): void {
  const made = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (made === undefined) return
  const topmost = dirname(resolve(made))
  for (let folder = resolve(path); folder !== topmost; folder = dirname(folder)) syncFolder(dirname(folder))
}
