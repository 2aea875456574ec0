#!/usr/bin/env node
// Plants the defects of defects.js one at a time into a copy of the project and runs the tests that must notice.
//   node test/faults/plant.js [--only N[,N…]] [--quick] [--list]
// --quick runs only tests of npm test. The exit code is 1 if no test notices a defect, or tests fail without it.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { defects } from './defects.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const configs = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json', 'vitest.config.ts']
const parts = ['src', 'test', 'bin', 'completions', 'README.md', ...configs]

/** By engine: the projects of vitest.config.ts that --quick runs. */
const QUICK = { sqlite: ['quick'], postgres: ['postgres'] }
const ALL = {
  sqlite: [...QUICK.sqlite, 'isolated', 'slow'],
  postgres: [...QUICK.postgres, 'postgres-rest'],
}

const { values } = parseArgs({
  options: { only: { type: 'string' }, quick: { type: 'boolean' }, list: { type: 'boolean' } },
})
const only = values.only?.split(',').map(Number)
const wanted = defects
  .map((defect, index) => ({ ...defect, number: index + 1 }))
  .filter((it) => only?.includes(it.number) ?? true)

/** Runs the tests of a defect in the copy; returns the names of failed tests and the number of passed tests. */
async function runTests(copy, { tests, match, project = 'sqlite' }) {
  const projects = (values.quick ? QUICK : ALL)[project].flatMap((it) => ['--project', it])
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const args = ['run', ...projects, '--passWithNoTests', '--bail', '1', '--reporter', 'json', '--outputFile', report]
  const filter = match === undefined ? [] : ['-t', match]
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, ...args, ...filter, ...tests], { cwd: copy, stdio: 'ignore' })
  await new Promise((resolve) => child.once('exit', resolve))
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => `${name.slice(copy.length + 1)}: ${fullName}`),
  )
  return { failed, passed: numPassedTests }
}

/** Results of tests without a defect, so that each runs only once for all defects that name it. */
const cleanRuns = new Map()
async function cleanRun(copy, defect) {
  const key = JSON.stringify([defect.tests, defect.match, defect.project])
  if (!cleanRuns.has(key)) cleanRuns.set(key, await runTests(copy, defect))
  return cleanRuns.get(key)
}

function plant(copy, { name, file, from, to }) {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(from).length !== 2) throw new Error(`"${name}": its text stands not exactly once in ${file}`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  return () => writeFileSync(path, text)
}

if (values.list) {
  for (const { number, name, file } of wanted) process.stdout.write(`${number}. ${name} (${file})\n`)
} else {
  const copy = mkdtempSync(join(tmpdir(), 'voucherctl-defects-'))
  let wrong = 0
  try {
    for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    for (const defect of wanted) {
      const heal = plant(copy, defect)
      const { failed } = await runTests(copy, defect)
      heal()
      // A test that also fails without the defect does not prove that it notices the defect.
      const clean = failed.length === 0 ? null : await cleanRun(copy, defect)
      const caught = clean !== null && clean.failed.length === 0 && clean.passed > 0
      if (!caught) wrong += 1
      const verdict = caught ? 'caught' : failed.length === 0 ? 'SURVIVED' : 'FAILS WITHOUT IT'
      process.stdout.write(`${defect.number}. ${verdict}: ${defect.name}\n${caught ? `   by ${failed[0]}\n` : ''}`)
    }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
  process.stdout.write(`${wanted.length - wrong} of ${wanted.length} caught\n`)
  process.exitCode = wrong === 0 ? 0 : 1
}
