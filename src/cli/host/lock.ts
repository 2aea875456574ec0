import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../../files/error-code.js'
import { isAlive } from '../../files/process-alive.js'

/** A holder needs milliseconds; a lock of this age belongs to a dead process, perhaps on another machine. */
const STALE_MS = 10_000
const POLL_MS = 20
const TRIES = 600

/**
 * Runs a function while this process holds the lock file. The function is synchronous, because other processes break
 * the lock after 10 s.
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
 * Takes a lock until the returned function releases it; undefined if another process holds it. It breaks only the lock
 * of a dead process of this machine.
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
    // A lock file without its holder would block others until it is stale.
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

const holder = () => `${process.pid}@${hostname()}`

/** Renames the lock before removing it, so that two processes that break it cannot remove the lock of a third. */
function breakStale(path: string, isLeft = isStale): void {
  try {
    const seen = readFileSync(path, 'utf8')
    if (!isLeft(seen, statSync(path).mtimeMs)) return
    const aside = `${path}.${process.pid}`
    renameSync(path, aside)
    if (readFileSync(aside, 'utf8') !== seen) linkSync(aside, path)
    rmSync(aside, { force: true })
  } catch {
    // Another process was faster.
  }
}

function isDead(content: string): boolean {
  const [pid = '', host] = content.split('@')
  return host === hostname() && !isAlive(Number(pid))
}

const isStale = (content: string, takenAt: number) => isDead(content) || Date.now() - takenAt > STALE_MS
