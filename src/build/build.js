// Builds dist/. This script is plain JavaScript, so that Node runs it without a compiler.
//
//   --if-changed  builds only if a source file is newer than dist/
//   --bundle      skips type declarations, which the tests do not need
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { bundle } from './bundle.js'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
const bundleOnly = process.argv.includes('--bundle')
// The build sets the time of this file when it has finished.
const stamp = bundleOnly ? 'dist/schemas/differences.schema.json' : 'dist/types/client/index.d.ts'

if (process.argv.includes('--if-changed') && isUpToDate()) process.exit()

const startedAt = new Date()
// With --bundle, overwrite dist/ instead of removing it: a test run may be reading from it.
if (!bundleOnly) fs.rmSync('dist', { recursive: true, force: true })
await bundle('dist')
fs.mkdirSync('dist/schemas', { recursive: true })
for (const input of ['src/cli/schemas/file-schemas.ts', 'src/server/file-schemas.ts']) {
  const { output } = await build({ input, platform: 'node', write: false, output: { codeSplitting: false } })
  const { fileSchemas } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
  for (const [name, text] of Object.entries(fileSchemas)) fs.writeFileSync(join('dist/schemas', name), text)
}
if (!bundleOnly) {
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { stdio: ['ignore', 2, 2] })
  for (const file of ['testing/index.d.mts', 'testing/index.d.cts'])
    fs.copyFileSync(`src/${file}`, `dist/types/${file}`)
}
fs.utimesSync(stamp, startedAt, startedAt)

/** True if no source file is newer than the last build. */
function isUpToDate() {
  const built = fs.statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = fs.readdirSync('src', { recursive: true }).map((path) => join('src', path))
  const inputs = ['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json', ...sources]
  return inputs.every((path) => fs.statSync(path).mtimeMs < built)
}
