import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { temporaryDir } from '../cli/cli.js'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))

/** Runs the text of a test with node:test in a new folder that has the built package. */
export async function runTest(text: string) {
  const folder = temporaryDir()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(checkout, join(folder, 'node_modules', 'voucherctl'))
  writeFileSync(join(folder, 'copied.test.mjs'), text)
  const { exitCode, stdout } = await execa(process.execPath, ['--test', '--test-reporter', 'tap', 'copied.test.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
  })
  return { exitCode, stdout }
}
