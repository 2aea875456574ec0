import { constants, copyFileSync, existsSync, fstatSync, ftruncateSync, renameSync, rmSync, statSync } from 'node:fs'

/** Environment variable that names the log file, to which the stderr of a detached server goes. */
export const LOG_FILE = 'VOUCHERCTL_DETACHED_LOG'
const BYTES_MAX = 10 * 1024 * 1024
const UNCHECKED_BYTES_MAX = 64 * 1024

/** Keeps a file as the newest of three earlier logs. */
export function keepLog(path: string, file = path): void {
  for (const [at, from] of [`${path}.2`, `${path}.1`, file].entries()) {
    if (existsSync(from)) renameSync(from, `${path}.${3 - at}`)
  }
}

/**
 * Rotates a log file before a line is written. Copies and empties it, because Node cannot redirect stderr, to which it
 * writes crash reports. Lines are written synchronously, so none is lost.
 */
export function rotating(path: string): (line: string) => string {
  let unchecked = 0
  return (line) => {
    unchecked += line.length
    if (unchecked < UNCHECKED_BYTES_MAX) return line
    unchecked = 0
    try {
      const { size, ino } = fstatSync(2)
      if (size < BYTES_MAX || statSync(path).ino !== ino) return line
      copyFileSync(path, `${path}.new`, constants.COPYFILE_EXCL)
      keepLog(path, `${path}.new`)
      ftruncateSync(2)
    } catch {
      // The disk may be full, or a killed server left a copy: the log continues in the same file.
      rmSync(`${path}.new`, { force: true })
    }
    return line
  }
}
