import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
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

/**
 * Creates a folder and missing parents, so that they survive a power failure. Node's recursive mkdir never returns in
 * /proc, where every new folder is reported as missing.
 * @returns the topmost new folder; undefined if there is none
 * @throws errors of mkdir, whose `path` is the folder that cannot be made
 */
export function makeFolder(path: string, mode = 0o700): string | undefined {
  // Only folders have an entry `.`. For a file or a broken link in the way, mkdir fails with EEXIST.
  const isFolder = (it: string) => existsSync(`${it}/.`)
  const missing: string[] = []
  for (let it = resolve(path); !isFolder(it) && dirname(it) !== it; it = dirname(it)) missing.unshift(it)
  for (const it of missing) {
    try {
      mkdirSync(it, mode)
    } catch (error) {
      // Another process may have made it.
      if (!isFolder(it)) throw error
    }
    syncFolder(dirname(it))
  }
  return missing[0]
}
