import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'

/** Maximum bytes of a file that is read whole (rules/cli.md#bounded-reads); `reasonOf` names it. */
export const FILE_BYTES_MAX = 16 * 1024 * 1024

/** Minimum bytes to read at first: files of /proc have no size. */
const FIRST_BYTES_MIN = 4 * 1024

/** Maximum bytes of one read: Linux refuses reads of 4 MiB from /proc/sys. */
const READ_BYTES_MAX = 1024 * 1024

export const tooLarge = () => Object.assign(new Error('The file is too large'), { code: 'FILE_TOO_LARGE' })

/**
 * Reads a file. It counts the bytes that it reads, because devices have no end and files grow, and never waits for the
 * writer of a named pipe.
 * @throws errors of the file system, or an error with the code FILE_TOO_LARGE
 */
export function readFile(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    // A buffer for the largest file would cost each start of a command more than its small files need.
    const expected = Math.min(Math.max(fstatSync(file).size, FIRST_BYTES_MIN), FILE_BYTES_MAX) + 1
    const first = readAt(file, 0, expected)
    const bytes = first.length < expected ? first : readAt(file, 0, FILE_BYTES_MAX + 1)
    if (bytes.length > FILE_BYTES_MAX) throw tooLarge()
    return bytes
  } finally {
    closeSync(file)
  }
}

/** Reads this many bytes at an offset; fewer at the end of the file. */
export function readAt(file: number, offset: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  let read = 0
  while (read < bytes) {
    const more = readSync(file, buffer, read, Math.min(bytes - read, READ_BYTES_MAX), offset + read)
    if (more === 0) break
    read += more
  }
  return buffer.subarray(0, read)
}

/**
 * Refuses a folder, pipe or device in the place of a file.
 * @throws errors of the file system, or an error with the code NOT_A_FILE
 */
export function requireFile(path: string): void {
  if (statSync(path).isFile()) return
  throw Object.assign(new Error(`${path} is not a file`), { code: 'NOT_A_FILE', syscall: 'open' })
}

/** Text of a file that programs write. @throws errors of `readFile` and `requireFile` */
export function readRegular(path: string): string {
  requireFile(path)
  return readText(path)
}

export const readText = (path: string): string => readFile(path).toString('utf8')

/** Text of a file; undefined if it cannot be read. */
export function findText(path: string): string | undefined {
  try {
    return readText(path)
  } catch {
    return undefined
  }
}

/** Path behind links; the path itself if it cannot be resolved. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
