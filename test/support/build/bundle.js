import { spawnSync } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

// A program in a subfolder of node_modules can import packages.
const folder = fileURLToPath(new URL('../../../node_modules/.cache/programs', import.meta.url))

export async function bundleProgram(input, name, plugins = []) {
  const file = join(folder, `${name}-${process.pid}.mjs`)
  await build({
    input,
    plugins,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    output: { file, format: 'esm', codeSplitting: false },
  })
  return file
}

const script = fileURLToPath(new URL('../../../src/build/build.js', import.meta.url))

export function buildPackage(...flags) {
  const { status } = spawnSync(process.execPath, [script, '--if-changed', ...flags], { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('src/build/build.js failed')
}
