// Runs simulations one after the other and stops at the first violation; README.md of this folder describes the options.
import process from 'node:process'
import { parseArgs } from 'node:util'
import { simulate, smallestFailure } from './simulate.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    actions: { type: 'string', default: '40' },
  },
})
const first = Number(values.seed)
const actions = Number(values.actions)
let steps = 0
let attempts = 0
for (let seed = first; seed < first + Number(values.count); seed++) {
  const result = await simulate(seed, actions)
  steps += result.steps
  attempts += result.attempts
  if (result.violations.length > 0) {
    const { actions: fewest, violations } = await smallestFailure(seed, actions)
    process.stdout.write(`seed ${seed}, ${fewest} actions:\n${violations.map((it) => `  ${it}\n`).join('')}`)
    process.exitCode = 1
    break
  }
}
process.stdout.write(`${steps} steps, ${attempts} delivery attempts\n`)
