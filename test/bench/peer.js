import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cache } from './bundle.js'

/**
 * Installs a package into a folder of the cache.
 * @param file exists once the package is installed
 * @returns why this is not possible, or null
 */
export function installBeside(folder, file, [name, ...flags]) {
  if (existsSync(file)) return null
  const args = ['install', '--no-save', ...flags, '--prefix', join(cache, folder), name]
  const { status, stderr } = spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  const [reason = `exit code ${status}`] = stderr?.match(/^npm error .*$/m) ?? []
  return status === 0 && existsSync(file) ? null : `npm cannot install ${name} (${reason})`
}
