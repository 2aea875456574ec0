import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** By name, in order: the shell without a user interface takes a third of the CPU time. */
const names = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
]

const macApplications = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Why the tests of the page are skipped where `findChromium` finds no browser. */
export const noChromium = 'no Chromium found: install chromium, or name a program in VOUCHERCTL_CHROMIUM'

export function findChromium(env = process.env) {
  // A named program that is missing is no reason to try another one.
  if (env.VOUCHERCTL_CHROMIUM) return [env.VOUCHERCTL_CHROMIUM].find(isProgram)
  const folders = (env.PATH ?? '').split(delimiter).filter((it) => it !== '')
  const inPath = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return [...inPath, ...(process.platform === 'darwin' ? macApplications : [])].find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

// As a program, for .ci/run: prints the path, or exits with 1.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = findChromium()
  process.stdout.write(`${path ?? noChromium}\n`)
  process.exitCode = path === undefined ? 1 : 0
}
