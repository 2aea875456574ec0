#!/usr/bin/env node
// Plants the defects of defects.txt one at a time into the server and runs simulations until one finds it.
//   node test/simulation/plant.js [--only N[,N…]] [--count N] [--list]
// --count is the maximum of simulations per defect, by default 60. The exit code is 1 if a defect is not found.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { readMistakes } from '../support/planting.js'
import { bundleSimulation } from './bundle.js'

/** A server whose defect keeps it busy without end is stopped after this time; that counts as found. */
const HANG_MS = 600_000

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    list: { type: 'boolean' },
    count: { type: 'string', default: '60' },
  },
})
const only = values.only?.split(',').map(Number)
const wanted = readMistakes('test/simulation/defects.txt')
  .map((defect, index) => ({ ...defect, number: index + 1 }))
  .filter(({ number }) => only?.includes(number) ?? true)

/** Runs simulations of a server with a defect; returns the first lines of the failed one, or null. */
async function find(defect) {
  const file = await bundleSimulation('main', `defect-${defect.number}`, defect)
  try {
    const child = spawn(process.execPath, [file, '--count', values.count], { timeout: HANG_MS, killSignal: 'SIGKILL' })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [code] = await once(child, 'close')
    return code === 0 ? null : output.split('\n').slice(0, 2).join('') || 'it hangs'
  } finally {
    rmSync(file)
  }
}

if (values.list) {
  for (const { number, name, file } of wanted) process.stdout.write(`${number}. ${name} (${file})\n`)
} else {
  let missed = 0
  for (const defect of wanted) {
    const found = await find(defect)
    if (found === null) missed += 1
    const verdict = found === null ? 'MISSED' : 'found'
    process.stdout.write(`${defect.number}. ${verdict}: ${defect.name}\n${found === null ? '' : `   ${found}\n`}`)
  }
  process.stdout.write(`${wanted.length - missed} of ${wanted.length} found\n`)
  process.exitCode = missed === 0 ? 0 : 1
}
