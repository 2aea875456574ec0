import { describe, expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { useReference } from '../support/conform/conform.js'
import { callDeviants } from '../support/conform/deviants/calls.js'
import { isWhole, someOf } from '../support/extent.js'

const deviants = someOf(callDeviants)

/** Deviants that run with all probes of the group that do not wait, in the long project; others with their rule's. */
const amongAll = new Set([
  'envelope/data-of-a-template',
  'order-of-checks/credential-before-members',
  'failure-codes/invalid-token',
  'lists/newest-first',
  'times/template',
  'ids/tpl',
  'text/nfc',
  'bodies/no-store',
  'unknown-members/body unknown-members/pointers',
])

const rules = [...new Set(deviants.map(([expected]) => expected.slice(0, expected.indexOf('/'))))]

// Each rule has its own reference: an account may have 50 applications, and each run creates one.
describe.each(rules)('%s', (rule) => {
  const reference = useReference({ rateLimit: rule === 'rate-limits' })

  // Only the reference of the rule rate-limits has rate limits: the runs of the others write more than 120 templates.
  const isFit = (it: (typeof allProbes)[number]) => rule === 'rate-limits' || ruleOf(it) !== 'rate-limits'
  const calls = allProbes.filter((it) => it.group === 'calls')
  const quick = calls.filter((it) => it.waitsMs === undefined && ruleOf(it) !== 'connections' && isFit(it))

  const own = deviants.filter(([expected]) => expected.startsWith(`${rule}/`))
  test.each(own)('a deviant server is reported for %s and nothing else', async (expected, deviate) => {
    const wanted = expected.split(' ')
    const probes = isWhole && amongAll.has(expected) ? quick : quick.filter((it) => ruleOf(it) === rule)
    const { results } = await reference.run({ only: [...probes.map(({ id }) => id), ...wanted], deviate })
    expect(results.filter(({ result }) => result === 'differs').map(({ probe }) => probe)).toEqual(wanted)
  })
})
