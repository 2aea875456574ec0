import process from 'node:process'
import { execa } from 'execa'
import { expect, test } from 'vitest'
import { isWhole } from '../support/extent.js'
import { root } from '../support/planting.js'
import { readDeviations } from './deviations.js'
import { commandOf, PROBES, readTagged } from './proofs.js'
import { readRules } from './rules.js'

/** Deviations of specified rules that `.ci/run` plants; the long project plants all deviations. */
const SAMPLE = 20

const all = readDeviations()
const specified = new Set<string>(readRules().flatMap(({ id, origin }) => (origin === 'specified' ? [id] : [])))
const ofSpecified = all.filter(({ rule }) => specified.has(rule))
const sample = ofSpecified.filter((_it, at) => at % Math.floor(ofSpecified.length / SAMPLE) === 0).slice(0, SAMPLE)

/** Part of the JSON report of vitest. */
interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[]
  }[]
}

/** Runs the proofs of a rule on the sources with a deviation; returns the failed tests. */
async function failedProofs(id: string, rule: string): Promise<string[]> {
  const quick = readTagged().filter((it) => it.rule === rule && commandOf(it.file) === 'npm test')
  const files = new Set([PROBES, ...quick.map(({ file }) => file)])
  const { stdout } = await execa({
    cwd: root,
    reject: false,
    env: { VOUCHERCTL_DEVIATION: id, VOUCHERCTL_TEST_EXTENT: '' },
  })`${process.execPath} node_modules/vitest/vitest.mjs run --project quick --project isolated --tags-filter ${rule} --reporter json ${[...files]}`
  const { testResults }: Report = JSON.parse(stdout.slice(stdout.indexOf('{"numTotal')))
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
  return tests.flatMap(({ status, title }) => (status === 'failed' ? [title] : []))
}

test('the sample has 20 deviations of specified rules', () => {
  expect(new Set(sample.map(({ rule }) => rule)).size).toBeGreaterThan(SAMPLE / 2)
  expect(sample).toHaveLength(SAMPLE)
})

test.each(isWhole ? all : sample)('a proof of $rule fails for a mistake in $file ($id)', async ({ id, rule }) => {
  expect(await failedProofs(id, rule)).not.toEqual([])
})
