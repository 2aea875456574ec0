// npm run mutate [-- --since REV] [--only NAME[,NAME…]] changes the code of portions.js in a copy of the project, one
// mutant at a time, and runs the tests that must fail. README.md of this folder describes it.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { copyProject, root } from '../support/planting.js'
import { revision } from '../support/revision.js'
import { equivalents } from './equivalents.js'
import { portions } from './portions.js'
import { compare } from './verdict.js'

// Not in package.json: its 167 packages (65 MB) would add 8 s to each `npm ci`, for a command that few people run.
const STRYKER = '9.6.1'
const tools = join(root, 'node_modules', '.cache', `stryker-${STRYKER}`)

const { values } = parseArgs({ options: { since: { type: 'string' }, only: { type: 'string' } } })
const only = values.only?.split(',')

/** Lines of changed source files since a revision, as Stryker selects them: `file:first-last`. */
function changedSince(revision) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  const ranges = git('ls-files', '--others', '--exclude-standard', '--', 'src').split('\n').filter(Boolean)
  let file = ''
  for (const line of git('diff', '--unified=0', '--no-renames', '--no-prefix', revision, '--', 'src').split('\n')) {
    if (line.startsWith('+++ ')) file = line.slice(4)
    const [, first, count = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
    if (first !== undefined && count !== '0') ranges.push(`${file}:${first}-${Number(first) + Number(count) - 1}`)
  }
  return ranges
}

const isIn = (sources) => (range) => {
  const [file] = range.split(':')
  return file.endsWith('.ts') && (sources.includes(file) || sources.includes(dirname(file)))
}

function install() {
  if (existsSync(join(tools, 'node_modules', '@stryker-mutator', 'vitest-runner'))) return
  const packages = [`@stryker-mutator/core@${STRYKER}`, `@stryker-mutator/vitest-runner@${STRYKER}`]
  // The runner takes Vitest, its peer, from the project's node_modules, in which this folder is.
  const options = ['--prefix', tools, '--no-save', '--legacy-peer-deps', '--no-audit', '--no-fund', '--ignore-scripts']
  const { status } = spawnSync('npm', ['install', ...options, ...packages], { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('npm could not install Stryker')
}

/** Runs Stryker in the copy, which it changes and restores. Returns the files of its report with their mutants. */
function runStryker(copy, { tests, onPostgres = false }, mutate) {
  const report = join(copy, 'report.json')
  const config = {
    testRunner: 'vitest',
    vitest: { related: false },
    coverageAnalysis: 'perTest',
    mutate,
    inPlace: true,
    // Each test runner starts its own PostgreSQL server.
    concurrency: onPostgres ? 1 : Math.min(2, availableParallelism()),
    reporters: ['json'],
    jsonReporter: { fileName: report },
    allowEmpty: true,
    // A loaded machine must not turn a survivor into a timeout, which counts as killed.
    timeoutMS: 20_000,
    allowConsoleColors: false,
  }
  const test = {
    include: tests,
    exclude: ['**/*.{slow,long,isolated}.test.ts'],
    isolate: false,
    testTimeout: 60_000,
    ...(onPostgres && { env: { VOUCHERCTL_TEST_ENGINE: 'postgres' }, globalSetup: 'test/support/postgres/setup.ts' }),
  }
  rmSync(report, { force: true })
  writeFileSync(join(copy, 'stryker.config.json'), JSON.stringify(config))
  writeFileSync(join(copy, 'vitest.config.js'), `export default ${JSON.stringify({ test })}`)
  const program = join(tools, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js')
  const { status } = spawnSync(process.execPath, [program, 'run', '--logLevel', 'warn'], {
    cwd: copy,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0 || !existsSync(report)) throw new Error('Stryker failed')
  return JSON.parse(readFileSync(report, 'utf8')).files
}

const changed = values.since === undefined ? undefined : changedSince(values.since)
const selected = portions
  .filter(({ name }) => only?.includes(name) ?? true)
  .map((portion) => ({
    portion,
    mutate:
      changed?.filter(isIn(portion.sources)) ?? portion.sources.map((it) => (it.endsWith('.ts') ? it : `${it}/*.ts`)),
  }))
  .filter(({ mutate }) => mutate.length > 0)

// Without tsconfig.json: Stryker would read it with the programming interface that TypeScript 7 no longer has.
const now = revision(root)
const total = { all: 0, killed: 0, listed: 0, alive: 0 }
const copy = copyProject(['src', 'test', 'package.json'])
try {
  if (selected.length > 0) install()
  for (const { portion, mutate } of selected) {
    const started = performance.now()
    const { lines, counts, failed } = compare(runStryker(copy, portion, mutate), equivalents, changed === undefined)
    const seconds = Math.round((performance.now() - started) / 1000)
    process.stdout.write(
      `${lines.join('')}${portion.name}: ${counts.all} mutants, ${counts.killed} killed, ` +
        `${counts.listed} listed as equivalent, ${counts.alive} survived (${seconds} s)\n`,
    )
    for (const count of Object.keys(total)) total[count] += counts[count]
    if (failed) process.exitCode = 1
  }
  if (selected.length === portions.length && changed === undefined) {
    const figures = `Of ${total.all} mutants ${total.killed} were killed, ${total.listed} are listed as equivalent, and ${total.alive} survived.`
    const result = { ...now, figures }
    writeFileSync(join(root, 'test', 'mutation', 'result.json'), `${JSON.stringify(result, null, 2)}\n`)
  }
  if (selected.length === 0) process.stdout.write('No line of a portion has changed.\n')
} finally {
  rmSync(copy, { recursive: true, force: true })
}
