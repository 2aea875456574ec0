import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { type Fault, moneyFaults, tenantFaults } from '../support/conform/deviants/faults.js'
import { differencesIn, linesBefore, removeHome, reportOn } from '../support/conform/report.js'
import { serveDeviant } from '../support/conform/serve-deviant.js'
import { isWhole, someOf } from '../support/extent.js'

removeHome()
/** The long project runs all rules but rate limits, and rules of a connection, which ends at the proxy. */
const rules = [...new Set(allProbes.map(ruleOf))].filter((it) => it !== 'rate-limits' && it !== 'connections')
const only = isWhole ? rules : ['vouchers', 'tenants']

test('conform reports no difference of a platform without a fault', async () => {
  const { exit, stdout } = await reportOn((it) => serveDeviant(it, (reference) => reference), only)
  expect(stdout).not.toContain('✗')
  expect(exit).toBe(0)
})

const faults: readonly Fault[] = [...moneyFaults, ...tenantFaults]

test('the table has 40 different faults or more', () => {
  expect(new Set(faults.map(([fault]) => fault)).size).toBe(faults.length)
  expect(faults.length).toBeGreaterThanOrEqual(40)
})

test.each(someOf(faults))('the report begins with the rule of a platform where %s', async (_fault, probe, deviate) => {
  // Only an expired voucher is worth the wait for its end.
  const maxWait = isWhole || probe === 'validity/at-valid-until' ? '5s' : '0s'
  const ran = await reportOn((it) => serveDeviant(it, deviate), only, { maxWait })
  const before = linesBefore(ran, ruleOf({ id: probe }))
  expect(before?.length).toBeLessThan(5)
  expect(before?.slice(1).filter((it) => !/^(specified|decided) (money|tenant):|^  /.test(it))).toEqual([])
  expect(differencesIn(ran)).toContain(probe)
  expect([1, 12]).toContain(ran.exit)
})
