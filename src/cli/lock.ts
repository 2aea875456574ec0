import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from './config.js'
import { isAlive } from './local-server.js'

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
function breakStale(path: string): void {
  try {
    const seen = readFileSync(path, 'utf8')
    if (!isStale(seen, statSync(path).mtimeMs)) return
    const aside = `${path}.${process.pid}`
    renameSync(path, aside)
    if (readFileSync(aside, 'utf8') !== seen) linkSync(aside, path)
    rmSync(aside, { force: true })
  } catch {
    // Another process was faster.
  }
}

function isStale(content: string, takenAt: number): boolean {
  const [pid = '', host] = content.split('@')
  if (host === hostname() && !isAlive(Number(pid))) return true
  return Date.now() - takenAt > STALE_MS
}
