// Builds dist/. This script is plain JavaScript, so that Node runs it without a compiler. --if-changed builds only if a
// source file or a file of dist/ changed since the last build; if only tests changed, it writes their evidence again.
// --bundle skips type declarations, which the tests do not need.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
const bundleOnly = process.argv.includes('--bundle')

/** Checksums of the sources, of the tests and of dist/ at the last build, bundled packages, and whether it made types. Not packed. */
const RECORD = join('dist', 'build.json')
const configs = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json']
const sources = checksumOf([...configs, ...filesOf('src')])
const tests = checksumOf(filesOf('test').filter((path) => !path.includes('vectors')))
const last = intactBuild()
const isUpToDate = process.argv.includes('--if-changed') && last?.sources === sources && (bundleOnly || last.types)
if (isUpToDate && last.tests === tests) process.exit()
if (isUpToDate) {
  const { build } = await import('rolldown')
  await writeEvidence(build)
  writeRecord(last)
  process.exit()
}

// With --bundle, overwrite dist/ instead of removing it, unless it is damaged: a test run may be reading from it.
if (!bundleOnly || last === null) fs.rmSync('dist', { recursive: true, force: true })
// Loaded only for a build: it takes longer than the checksums.
const [{ build }, { bundle }] = await Promise.all([import('rolldown'), import('./bundle.js')])
const { packages } = await bundle('dist')
// Help pages by their words, with a separator that no word contains: bin/voucherctl.js prints them.
const { agentVariables, entries, leavesOfEntries, run } = createRequire(import.meta.url)('../../dist/cli/main.cjs')
const paths = (await leavesOfEntries(entries)).flatMap(([names]) => names.map((_, at) => names.slice(0, at + 1)))
const pages = { agentVariables }
const store = (words, key, env) => run(words, { env, stdout: { write: (text) => (pages[key] = text) } })
for (const words of [[], ...paths].map((names) => [...names, '--help'])) await store(words, words.join('\0'), {})
await store(['--help'], 'firstForAgents', { [agentVariables[0]]: 'yes' })
fs.writeFileSync('dist/help.json', JSON.stringify(pages))
fs.mkdirSync('dist/schemas', { recursive: true })
/** Files that users write: name, title, and the module with its schema. */
const files = [
  ['templates', 'Template file of voucherctl', 'contract/templates.ts', 'templateFile'],
  ['scenario', 'Scenario file of voucherctl', 'cli/schemas/scenario-schema.ts', 'scenarioSchema'],
  ['seed', 'Seed file of voucherctl', 'server/seed/schema.ts', 'seedSchema'],
]
for (const [name, title, path, member] of files) {
  const { [member]: schema } = await load(build, `src/${path}`)
  const whole = { $schema: 'http://json-schema.org/draft-07/schema#', title, ...schema }
  fs.writeFileSync(`dist/schemas/${name}.schema.json`, `${JSON.stringify(whole, withoutOwnKeywords)}\n`)
}
// The guide for agents, with the heads that their programs look for.
const [, title, text] = /^# (.*)\n+([^]*)$/.exec(fs.readFileSync('src/guides/agents.md', 'utf8'))
const { name, description } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
fs.writeFileSync(
  'dist/SKILL.md',
  `---\nname: ${name}\ndescription: ${JSON.stringify(text.slice(0, text.indexOf('\n')))}\n---\n\n# ${title}\n\n${text}`,
)
fs.writeFileSync('dist/llms.txt', `# ${name}\n\n> ${description}\n\n${text}`)
await writeEvidence(build)
if (!bundleOnly) {
  const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { stdio: ['ignore', 2, 2] })
  fs.copyFileSync('src/testing/index.d.cts', 'dist/types/testing/index.d.ts')
  // A tab for four spaces: a tenth of the package would be indentation of types.
  for (const path of filesOf('dist/types')) {
    const text = fs.readFileSync(path, 'utf8')
    fs.writeFileSync(
      path,
      text.replace(/^(?: {4})+/gm, (indent) => '\t'.repeat(indent.length / 4)),
    )
  }
  // The libraries are CommonJS, and their modules for `import` export the same.
  fs.writeFileSync('dist/types/package.json', '{ "type": "commonjs" }\n')
  for (const library of ['client', 'secure', 'testing', 'webhook'])
    fs.writeFileSync(`dist/types/${library}/index.d.mts`, "export * from './index.js'\n")
}
writeRecord({ types: !bundleOnly, packages })

function writeRecord(record) {
  fs.writeFileSync(RECORD, JSON.stringify({ ...record, sources, tests, dist: checksumOf(filesOf('dist')) }))
}

/** Bundles a module of TypeScript and returns its exports. */
async function load(build, input) {
  const { output } = await build({ input, platform: 'node', write: false, output: { codeSplitting: false } })
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`)
}

/** Writes what proves each rule as data and as a document. */
async function writeEvidence(build) {
  const { documentOf, readEvidence } = await import('../../test/evidence/evidence.js')
  const { probes } = await load(build, 'test/evidence/probes.ts')
  const evidence = readEvidence(probes)
  fs.writeFileSync('dist/evidence.json', JSON.stringify(evidence))
  fs.writeFileSync('dist/evidence.md', documentOf(evidence))
}

/** Drops keywords of the contract that JSON Schema lacks; `x-expected` becomes a description. */
function withoutOwnKeywords(_name, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { 'x-expected': expected, 'x-openapi': _openapi, 'x-unique': _unique, ...rest } = value
  return expected === undefined ? rest : { description: expected, ...rest }
}

function filesOf(folder) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((it) => !it.isDirectory()).map((it) => join(it.parentPath, it.name))
  return paths.filter((path) => path !== RECORD).sort()
}

function checksumOf(paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    const bytes = fs.readFileSync(path)
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}

function intactBuild() {
  try {
    const record = JSON.parse(fs.readFileSync(RECORD, 'utf8'))
    return record.dist === checksumOf(filesOf('dist')) ? record : null
  } catch {
    return null
  }
}
