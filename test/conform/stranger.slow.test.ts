import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { linesBefore, removeHome, reportOn } from '../support/conform/report.js'
import { deviations, noDeviation, startStranger } from '../support/conform/stranger.js'
import { isWhole } from '../support/extent.js'

removeHome()
/** The long project runs all rules but rate limits, and rules of a connection, which ends at the proxy. */
const rules = [...new Set(allProbes.map(ruleOf))].filter((it) => it !== 'rate-limits' && it !== 'connections')
const some = [...new Set(deviations.map(([, rule]) => rule))]

test('a platform of a stranger without a deviation has no difference', async () => {
  const { exit, stdout } = await reportOn((it) => startStranger(it, noDeviation), isWhole ? rules : some)
  expect(stdout).not.toContain('✗')
  expect(exit).toBe(0)
})

test.each(deviations)('the report begins with the rule of a platform where %s', async (_what, rule, plant) => {
  const ran = await reportOn((it) => startStranger(it, plant()), isWhole ? rules : ['tenants', rule], {
    maxWait: isWhole || rule === 'signatures' ? '5s' : '0s',
  })
  expect(linesBefore(ran, rule)?.length).toBeLessThan(5)
  expect([1, 12]).toContain(ran.exit)
})
