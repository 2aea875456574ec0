import { constants, copyFileSync, existsSync, fstatSync, ftruncateSync, renameSync, rmSync, statSync } from 'node:fs'

/** Environment variable with the log file of a detached server, which is its stderr. */
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
 * Rotates a log file while lines are written. Copies and empties it, because Node cannot redirect stderr to another
 * file; libraries such as pino-roll open one, which misses crash reports. The log writes synchronously: no line is lost.
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
