#!/usr/bin/env node
// Plants the defects of defects.js one at a time into a copy of the project and runs the tests that must notice.
//   node test/faults/plant.js [--only N[,N…]] [--quick] [--list]
// --quick runs only tests of npm test. The exit code is 1 if no test notices a defect, or tests fail without it.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { copyProject, printDefects, readArguments, replaceOnce, root } from '../support/planting.js'
import { defects } from './defects.js'

const configs = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json', 'vitest.config.ts']
const parts = ['src', 'test', 'bin', 'completions', 'README.md', ...configs]

/** By engine: the projects of vitest.config.ts that --quick runs. */
const QUICK = { sqlite: ['quick', 'isolated'], postgres: ['postgres'] }
const ALL = {
  sqlite: [...QUICK.sqlite, 'slow'],
  postgres: [...QUICK.postgres, 'postgres-rest'],
}

const { values, wanted } = readArguments(defects, { quick: { type: 'boolean' } })

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

function plant(copy, defect) {
  const path = join(copy, defect.file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, replaceOnce(text, defect))
  return () => writeFileSync(path, text)
}

if (values.list) printDefects(wanted)
else {
  const copy = copyProject(parts)
  let wrong = 0
  try {
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
