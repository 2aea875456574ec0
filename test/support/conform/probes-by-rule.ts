import { ruleOf } from '../../../src/conform/probe.js'
import { allProbes } from '../../../src/conform/probes/index.js'

/** Time that `npm test` waits for an event on the platform. Probes that wait longer run by hand, with --max-wait. */
export const MAX_WAIT_MS = 5_000

/** Probes that need a platform which reviews bots later. */
export const reviewed: readonly string[] = [
  'applications/link-of-a-pending-bot',
  'bot-records/patch-before-approval',
  'bot-states/pending-is-not-active',
  'bot-states/not-approved',
]

/** Probes that `npm test` does not run, because their receiver must be on another machine than the platform. */
const elsewhere = ['localhost', 'ipv4-loopback', 'ipv6-loopback'].map((it) => `webhook-urls/${it}`)
/** Probes of a platform whose encrypted transport is off: encryption.slow.test.ts runs them. */
const off = ['session-while-off', 'dispatch-while-off'].map((it) => `encrypted-transport/${it}`)
const absent = new Set([...elsewhere, ...off])

/** Id of the rule that a probe observes, such as `lists/2`. */
export const ruleIdOf = (probe: (typeof allProbes)[number]) => `${ruleOf(probe)}/${probe.number}`

/** Ids of the probes that `npm test` runs, by the rule that they observe. */
export function probesByRule(): ReadonlyMap<string, readonly string[]> {
  const byRule = new Map<string, string[]>()
  for (const probe of allProbes) {
    if ((probe.waitsMs ?? 0) > MAX_WAIT_MS || absent.has(probe.id)) continue
    byRule.set(ruleIdOf(probe), [...(byRule.get(ruleIdOf(probe)) ?? []), probe.id])
  }
  return byRule
}
