import { expect, test } from 'vitest'
import { allProbes } from '../../src/conform/probes/index.js'
import { startReference, useReference } from '../support/conform/conform.js'

const MAX_WAIT_MS = 5_000
/** Probes that wait longer for the platform: a run by hand with --max-wait has them. */
const patient = new Set<string>(allProbes.filter(({ waitsMs = 0 }) => waitsMs > MAX_WAIT_MS).map(({ id }) => id))
/** Probes that need a platform which reviews bots later. The reference of this file approves them immediately. */
const reviewed: readonly string[] = [
  'applications/link-of-a-pending-bot',
  'bot-records/patch-before-approval',
  'bot-states/pending-is-not-active',
  'bot-states/not-approved',
]
/** Hosts that a platform allows whose receiver is on its own machine, like in these tests. */
const ownMachine: readonly string[] = ['localhost', 'ipv4-loopback', 'ipv6-loopback'].map((it) => `webhook-urls/${it}`)
/** Probes of a platform whose encrypted transport is off: see encryption.slow.test.ts. */
const off = ['session-while-off', 'dispatch-while-off'].map((it) => `encrypted-transport/${it}`)

const reference = useReference({ rateLimit: true })

test('the reference follows every rule that a probe observes', async () => {
  const { results } = await reference.run({ maxWaitMs: MAX_WAIT_MS })
  const others = results.filter(({ probe, result }) => result !== 'holds' && !patient.has(probe))
  const absent = [...reviewed, ...ownMachine, ...off]
  expect(others.filter(({ probe, result }) => result === 'differs' || !absent.includes(probe))).toEqual([])
})

test('reference follows the rules about bots before approval', async () => {
  const reviewing = await startReference({ autoApprove: false })
  const { results } = await reviewing.run({ only: reviewed })
  expect(results.map(({ probe, result }) => [probe, result])).toEqual(reviewed.map((it) => [it, 'holds']))
  await reviewing.close()
})
