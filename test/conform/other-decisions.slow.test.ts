import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { combinable, combined, decisions, notCombined } from '../support/conform/deviants/other-decisions.js'
import { differencesIn, removeHome, reportOn } from '../support/conform/report.js'
import { serveDeviant } from '../support/conform/serve-deviant.js'

removeHome()
/** Without the rate limits, which a run with every wait stays below, and connections, which end at the proxy. */
const rules = [...new Set(allProbes.map(ruleOf))].filter((it) => it !== 'rate-limits' && it !== 'connections')
const start = (reference: string) => serveDeviant(reference, combined(combinable))

test('each deviation that cannot be combined is one of a decision', () => {
  const known = decisions.map(([probes]) => probes)
  expect(Object.keys(notCombined).filter((it) => !known.includes(it as (typeof known)[number]))).toEqual([])
  expect(combinable.length).toBeGreaterThan(200)
})

test('a platform that differs in every decision passes with --fail-on specified', async () => {
  const ran = await reportOn(start, rules, { maxWait: '0s', more: ['--fail-on', 'specified'] })
  expect(ran.exit).toBe(0)
  expect(differencesIn(ran).length).toBeGreaterThan(180)
})

test('a platform that differs in decisions exits with 12 by default', async () => {
  const { exit } = await reportOn(start, ['lists'], { maxWait: '0s' })
  expect(exit).toBe(12)
})
