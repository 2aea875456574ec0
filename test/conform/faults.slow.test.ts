import { expect, test } from 'vitest'
import { allProbes } from '../../src/conform/probes/index.js'
import { ruleOf } from '../../src/conform/probe.js'
import { cli } from '../support/cli/cli.js'
import { startReference } from '../support/conform/conform.js'
import { moneyFaults, tenantFaults } from '../support/conform/deviants/faults.js'
import { serveDeviant } from '../support/conform/serve-deviant.js'
import { isWhole } from '../support/extent.js'
import type { Deviate } from '../support/conform/deviants.js'

/** The long project runs every rule but the rate limits, which a run with every wait stays below. */
const only = isWhole ? [...new Set(allProbes.map(ruleOf))].filter((it) => it !== 'rate-limits') : ['vouchers', 'tenants']

/** What `conform` prints and returns for a platform with the deviation. */
async function report(deviate: Deviate, more: readonly string[] = []) {
  const { baseUrl, offer, close } = await startReference()
  const { credentials, template, botId, chat } = offer
  const env = {
    VOUCHERCTL_BASE_URL: await serveDeviant(baseUrl, deviate),
    VOUCHERCTL_TOKEN: credentials.token ?? '',
    VOUCHERCTL_JWT: credentials.jwt ?? '',
    VOUCHERCTL_BOT_TOKEN: credentials.bot ?? '',
  }
  const resources = ['--template', template, '--bot', botId, '--chat', chat]
  const limits = ['--quota', '1000', '--rate', '1000', '--max-wait', '5s']
  const ran = await cli(['conform', '--only', only.join(','), ...resources, ...limits, ...more], { env })
  await close()
  return ran
}

test('conform reports no difference of a platform without a fault', async () => {
  const { exit, stdout, stderr } = await report((reference) => reference)
  expect(stderr + stdout).not.toContain('✗')
  expect(exit).toBe(0)
})

test.concurrent.each([...moneyFaults, ...tenantFaults])('the report begins with the rule of a platform on which %s', async (fault, probe, deviate) => {
  const { exit, stdout } = await report(deviate)
  const differing = stdout.split('\n').filter((it) => it.startsWith('✗'))
  console.log(JSON.stringify([fault, probe, differing.join(' '), exit, differing.some((it) => it.includes(probe)) ? 'OK' : 'MISSING']))
})
