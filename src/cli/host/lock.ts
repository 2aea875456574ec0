import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../../files/error-code.js'
import { isAlive } from '../../files/process-alive.js'

/** A holder needs some milliseconds; one that is this old died, perhaps on another machine. */
const STALE_MS = 10_000
const POLL_MS = 20
const TRIES = 600

/**
 * Does something while no other process does it under the same lock file. What is done must not wait: the lock
 * counts as left behind after 10 s.
 * @throws what the file system says when the lock file cannot be made; code ELOCKED when it stays taken for 12 s
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
 * Takes a lock for as long as this process wants it; the function that it answers gives it back. Undefined while
 * another process holds it: only one that is dead, on this machine, has left it behind.
 * @throws what the file system says when the lock file cannot be made
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
    // Without its holder it would stand in the way of others until it is old.
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

const holder = () => `${process.pid}@${hostname()}`

/** Moves it away first: two that break the same lock must not remove the one of a third. */
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
