// Builds dist/ (the bundle, the licences of the bundled packages, the types of the libraries) and completions/. It is
// plain JavaScript, so that it runs without being built itself.
//
//   --if-changed  builds only when a source is newer than dist/
//   --bundle      skips types and completions, which the tests do not need
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundle } from './bundle.js'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
const bundleOnly = process.argv.includes('--bundle')
// The last file that the build writes.
const licences = 'dist/THIRD-PARTY-LICENSES'
const stamp = bundleOnly ? licences : 'dist/types/client/index.d.ts'

/** File names by shell. The built command line prints the scripts; a test compares them with the command tree. */
const completions = {
  bash: 'voucherctl.bash',
  zsh: '_voucherctl',
  fish: 'voucherctl.fish',
  powershell: 'voucherctl.ps1',
}

// Tests, campaigns and npm ci all start a build, mostly without a change.
if (process.argv.includes('--if-changed') && isUpToDate()) process.exit()

const startedAt = new Date()
// A bundle is overwritten and not removed, because a test run may be using it.
if (!bundleOnly) rmSync('dist', { recursive: true, force: true })
const programs = await bundle('dist')
writeFileSync(licences, licencesOf(programs.flatMap(Object.values).flatMap(({ modules }) => modules)))
if (!bundleOnly) {
  await Promise.all(Object.entries(completions).map(writeCompletion))
  writeTypes()
}
utimesSync(stamp, startedAt, startedAt)

async function writeCompletion([shell, file]) {
  const path = join('completions', file)
  const { stdout } = await promisify(execFile)(process.execPath, ['bin/voucherctl.js', 'completion', shell])
  // Do not rewrite an unchanged file, so that a build leaves a checkout clean.
  if (!existsSync(path) || readFileSync(path, 'utf8') !== stdout) writeFileSync(path, stdout)
}

function writeTypes() {
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { stdio: ['ignore', 2, 2] })
}

/** True if no source is newer than dist/. */
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
