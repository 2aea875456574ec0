import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { allProbes } from '../../src/conform/probes/index.js'
import { startReference } from '../support/conform/conform.js'
import { bots } from '../support/conform/deviants/bots.js'
import { callers } from '../support/conform/deviants/callers.js'
import { callDeviants } from '../support/conform/deviants/calls.js'
import { encryption } from '../support/conform/deviants/encryption.js'
import { vouchers } from '../support/conform/deviants/vouchers.js'
import { webhooks } from '../support/conform/deviants/webhooks.js'

/** Deviant servers of as many rules, by a probe that reports them. */
const chosen = [
  'envelope/status-of-a-created-token',
  'order-of-checks/media-type-before-size',
  'failure-codes/template-not-found',
  'lists/newest-first',
  'times/template',
  'text/nfc',
  'bodies/no-store',
  'unknown-members/body',
  'credential-kinds/console-with-token',
  'token-form/shown-parts',
  'application-tokens/lifetime-by-default',
  'applications/link-twice',
  'idempotency-keys/other-body',
  'replays/not-the-first-call',
  'templates/too-large-issue-limit',
  'validity/duration-of-1095',
  'credentials/lower-case',
  'issue/repeated-status',
  'redemptions/second',
  'reversal/metadata',
  'bot-records/listed',
  'bot-states/unknown-scope',
  'bot-metrics/errors-by-code',
  'lines-of-a-message/cr-lf',
  'polling/limit-of-101',
  'webhook-urls/ipv4-169-254-169-254',
  'webhook-settings/max-connections',
  'bootstrap-and-session/kid',
  'inner-responses/success',
  'required-encryption/upgrade',
]

const deviants = [...callDeviants, ...callers, ...vouchers, ...bots, ...webhooks, ...encryption]
const wanted = deviants.filter(([probe]) => chosen.includes(probe))

test('30 deviant servers cover 30 rules and every group', () => {
  expect(new Set(wanted.map(([id]) => ruleOf({ id }))).size).toBe(30)
  const groups = new Set(allProbes.filter(({ id }) => chosen.includes(id)).map(({ group }) => group))
  expect(groups).toEqual(new Set(allProbes.map(({ group }) => group)))
})

/** Without rate limits, which only a run with every wait stays below. */
const probes = allProbes.filter((it) => ruleOf(it) !== 'rate-limits').map(({ id }) => id)

// Each has its own reference: bots, chats and webhooks are shared by the probes of all groups.
test.each(wanted)('all probes report the deviant server of %s for its rule alone', async (id, deviate) => {
  const reference = await startReference()
  const { results } = await reference.run({ only: probes, deviate, maxWaitMs: 0 })
  await reference.close()
  const reported = results.filter(({ result }) => result === 'differs' || result === 'not_reachable')
  expect(reported.filter(({ rule }) => rule !== ruleOf({ id }))).toEqual([])
  expect(reported.map(({ probe }) => probe)).toContain(id)
  expect(reported.filter(({ result }) => result === 'not_reachable')).toEqual([])
})
