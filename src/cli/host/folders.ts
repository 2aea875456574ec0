import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { realPathOf } from '../../files/read-file.js'
import type { Host } from './host.js'

/**
 * Lists the folders from the working folder up to the repository root or home folder, else up to the root of the file
 * system.
 */
export function foldersOf({ cwd, homeDir }: Pick<Host, 'cwd' | 'homeDir'>): readonly string[] {
  const home = realPathOf(homeDir)
  const folders: string[] = []
  for (let dir = cwd; ; dir = dirname(dir)) {
    folders.push(dir)
    if (existsSync(join(dir, '.git')) || realPathOf(dir) === home || dirname(dir) === dir) return folders
  }
}
