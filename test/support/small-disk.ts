import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** Mounts a file system of a few MiB in memory, or returns the reason why this user may not mount one. */
export function mountSmall(at: string, mib: number): { unmount(): void } | { skipped: string } {
  if (process.platform !== 'linux') return { skipped: 'a small tmpfs needs Linux' }
  mkdirSync(at)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'none', at], { stdio: 'pipe' })
  } catch (error) {
    return {
      skipped: `no tmpfs can be mounted here (it takes root): ${String((error as Error).message)
        .split('\n')
        .at(-2)}`,
    }
  }
  // Lazy, because this process may still hold a closed database.
  return { unmount: () => execFileSync('umount', ['-l', at]) }
}

/** Fills a file system until `leftKib` KiB are free; returns the path of the file. */
export function fill(disk: string, leftKib: number): string {
  const path = join(disk, 'ballast')
  const file = openSync(path, 'w')
  const { bavail, bsize } = statfsSync(disk)
  const zeros = Buffer.alloc(64 * 1024)
  for (let left = bavail * bsize - leftKib * 1024; left > 0; left -= zeros.length) {
    writeSync(file, zeros, 0, Math.min(left, zeros.length))
  }
  closeSync(file)
  return path
}
