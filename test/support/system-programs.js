import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** Folders of programs for administrators, which PATH often lacks. */
const folders = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']

export function findProgram(name) {
  const all = [...(process.env.PATH ?? '').split(delimiter).filter((it) => it !== ''), ...folders]
  return all.map((folder) => join(folder, name)).find(isProgram)
}

export const noProgram = (name) => `no ${name} found: install it from the packages of the system`

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// As a program, for .ci/run: prints what is missing of the programs that its arguments name, and exits with 1.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = process.argv.slice(2).filter((name) => findProgram(name) === undefined)
  process.stdout.write(`${missing.map(noProgram).join('; ')}\n`)
  process.exitCode = missing.length === 0 ? 0 : 1
}
