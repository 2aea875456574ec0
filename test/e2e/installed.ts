import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll } from 'vitest'

function required(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set; run .ci/run, which sets it`)
  return value
}

/** Folder in which .ci/run has installed the packed package. */
export const folder = required('VOUCHERCTL_E2E_FOLDER')
/** Path of the Node binary to test with; `major` is its expected major version. */
export const node = required('VOUCHERCTL_E2E_NODE')
export const major = required('VOUCHERCTL_E2E_MAJOR')

/** The installed package. */
export const installed = join(folder, 'node_modules', 'voucherctl')

/** A YAML file of the guide of first steps, by the name in its first line. */
export function fileOfGuide(name: string): string {
  const guide = readFileSync(join(installed, 'src', 'guides', 'first-steps.md'), 'utf8')
  const found = guide.split('```yaml\n').find((it) => it.startsWith(`# ${name}\n`))
  return found?.split('```')[0] ?? ''
}

/** Folder of a package that the checkout has installed. */
export const packageFolder = (name: string) => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))

/** Jest in the folder of the installation. */
export const jest = join(folder, 'node_modules', 'jest', 'bin', 'jest.js')
/** For Jest and Vitest, whose default limit of 5 s for a test is too short on a busy machine. */
export const patient = '--testTimeout=60000'

export const home = mkdtempSync(join(tmpdir(), 'voucherctl-e2e-home-'))
// Runs in each test file that imports this module.
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Environment of the commands: an empty home folder, a fixed zone, and nothing else but PATH. */
export const environment: Record<string, string> = { HOME: home, PATH: process.env.PATH ?? '', TZ: 'UTC' }

/** Runs a script with the Node binary under test. */
export function run(script: string, ...args: string[]) {
  return execa(node, [script, ...args], {
    cwd: folder,
    env: environment,
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    timeout: 45_000,
  })
}

export const voucherctl = (...args: string[]) =>
  run(join('node_modules', 'voucherctl', 'bin', 'voucherctl.js'), ...args)
