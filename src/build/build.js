// Builds dist/: the programs, JSON Schemas, type declarations, the licences of bundled packages. This script is plain
// JavaScript, so that Node runs it without a compiler.
//
//   --if-changed  builds only if a source file is newer than dist/
//   --bundle      skips type declarations, which the tests do not need
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { bundle } from './bundle.js'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
const bundleOnly = process.argv.includes('--bundle')
// A build with --bundle writes this file last.
const licences = 'dist/THIRD-PARTY-LICENSES'
const stamp = bundleOnly ? licences : 'dist/types/client/index.d.ts'

// Test runs, fault campaigns and npm ci all start a build, although sources have rarely changed.
if (process.argv.includes('--if-changed') && isUpToDate()) process.exit()

const startedAt = new Date()
// With --bundle, overwrite dist/ instead of removing it: a test run may be reading from it.
if (!bundleOnly) rmSync('dist', { recursive: true, force: true })
const programs = await bundle('dist')
await writeSchemas()
writeFileSync(licences, licencesOf(programs.flatMap(Object.values).flatMap(({ modules }) => modules)))
if (!bundleOnly) writeTypes()
utimesSync(stamp, startedAt, startedAt)

/** Writes the JSON Schemas, which modules in TypeScript define. */
async function writeSchemas() {
  mkdirSync('dist/schemas', { recursive: true })
  for (const input of ['src/cli/schemas/file-schemas.ts', 'src/server/file-schemas.ts']) {
    const { output } = await build({ input, platform: 'node', write: false, output: { codeSplitting: false } })
    const { fileSchemas } = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
    for (const [name, text] of Object.entries(fileSchemas)) writeFileSync(join('dist/schemas', name), text)
  }
}

function writeTypes() {
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { stdio: ['ignore', 2, 2] })
  for (const file of ['testing/index.d.mts', 'testing/index.d.cts']) copyFileSync(`src/${file}`, `dist/types/${file}`)
}

/** True if no source file is newer than the last build. */
function isUpToDate() {
  const built = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = readdirSync('src', { recursive: true }).map((path) => join('src', path))
  const inputs = ['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json', ...sources]
  return inputs.every((path) => statSync(path).mtimeMs < built)
}

/** Name, version and licence text of every bundled package. @throws Error for a package without a licence. */
function licencesOf(inputs) {
  const folders = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]))
  const sections = [...folders].filter(Boolean).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry))
    if (file === undefined && typeof license !== 'string') throw new Error(`${name} ${version} has no licence`)
    const text =
      file === undefined ? 'Declared in its package.json, without a text.' : readFileSync(join(folder, file), 'utf8')
    return `${name} ${version} (${license ?? 'see its text'})\n\n${text.trim()}\n`
  })
  return [...new Set(sections)].sort().join(`\n${'-'.repeat(80)}\n\n`)
}
