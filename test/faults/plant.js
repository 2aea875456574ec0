#!/usr/bin/env node
// Plants the defects of defects.js one at a time into a copy of the project, and runs the short form of its campaign.
//   node test/faults/plant.js [--only N[,N…]] [--list]
// The exit code is 1 if a campaign does not find its defect.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { copyProject, printDefects, readArguments, replaceOnce } from '../support/planting.js'
import { defects } from './defects.js'

const { values, wanted } = readArguments(defects, {})
const parts = ['bin', 'src', 'test', 'completions', 'package.json', 'package-lock.json']
const more = ['tsconfig.json', 'tsconfig.types.json', 'LICENSE', 'README.md', 'CHANGELOG.md']

/** A server whose defect keeps it busy without end is stopped after this time; that counts as found. */
const HANG_MS = 300_000

function isFound(defect) {
  const copy = copyProject([...parts, ...more])
  try {
    const path = join(copy, defect.file)
    writeFileSync(path, replaceOnce(readFileSync(path, 'utf8'), defect))
    const args = [join(copy, 'test', 'faults', 'run.js'), '--quick', '--only', defect.row]
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: HANG_MS })
    process.stdout.write(
      stdout
        .split('\n')
        .slice(1, 4)
        .map((line) => `   ${line.slice(0, 200)}\n`)
        .join(''),
    )
    return status !== 0
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

if (values.list) printDefects(wanted)
else {
  let missed = 0
  for (const defect of wanted) {
    const found = isFound(defect)
    if (!found) missed += 1
    process.stdout.write(`${defect.number}. ${found ? 'found' : 'MISSED'}: ${defect.name}\n`)
  }
  process.exitCode = missed === 0 ? 0 : 1
}
