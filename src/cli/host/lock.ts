import { closeSync, linkSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../../files/error-code.js'
import { isAlive, processStart } from '../../files/process-alive.js'
import { readRegular } from '../../files/read-file.js'

/** Age at which a lock is broken: a holder needs milliseconds, so its process has died, perhaps on another machine. */
const STALE_MS = 10_000
const POLL_MS = 20
const TRIES = 600

/**
 * Runs a function while this process holds a lock file. The function must be synchronous and short, because other
 * processes break a lock that is 10 s old.
 * @throws errors of the file system; ELOCKED if another process holds the lock for 12 s
 */
export async function withLock<T>(path: string, act: () => T): Promise<T> {
  for (let tries = 0; !take(path); tries += 1) {
    if (tries === TRIES) throw Object.assign(new Error(`${path} is held by another process`), { code: 'ELOCKED' })
    breakStale(path)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  try {
    return act()
  } finally {
    rmSync(path, { force: true })
  }
}

/**
 * Takes a lock and returns a function that releases it; undefined if another process holds the lock. It breaks only the
 * lock of a process of this machine that has ended.
 * @throws errors of the file system
 */
export function holdLock(path: string): (() => void) | undefined {
  if (!take(path)) {
    breakStale(path, isDead)
    if (!take(path)) return undefined
  }
  return () => rmSync(path, { force: true })
}

function take(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
  try {
    writeSync(file, holder())
    return true
  } catch (error) {
    // A lock file that does not name its holder would block other processes until it is 10 s old.
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

/** Names this process by PID and start: after a restart of the machine another process may have the same PID. */
const holder = () => `${process.pid}@${hostname()} ${processStart(process.pid) ?? ''}`.trimEnd()

/** Removes a stale lock. It renames the file first, so that two processes cannot remove the new lock of a third. */
function breakStale(path: string, isLeft = isStale): void {
  try {
    const seen = readRegular(path)
    if (!isLeft(seen, statSync(path).mtimeMs)) return
    const aside = `${path}.tmp-${process.pid}`
    renameSync(path, aside)
    if (readRegular(aside) !== seen) linkSync(aside, path)
    rmSync(aside, { force: true })
  } catch {
    // Another process removed the stale lock first.
  }
}

function isDead(content: string, takenAt: number): boolean {
  const [, pid, host, start] = /^(\d+)@(.*?)(?: (\S+ \d+))?$/.exec(content) ?? []
  // A lock without a name is left from a power failure, because a holder writes its name immediately.
  if (pid === undefined) return isOld(takenAt)
  if (host !== hostname()) return false
  return !isAlive(Number(pid)) || (start !== undefined && processStart(Number(pid)) !== start)
}

const isOld = (takenAt: number) => Date.now() - takenAt > STALE_MS
const isStale = (content: string, takenAt: number) => isDead(content, takenAt) || isOld(takenAt)
