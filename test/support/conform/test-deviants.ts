import { describe, expect, test } from 'vitest'
import { ruleOf } from '../../../src/conform/probe.js'
import { isWhole, someOf } from '../extent.js'
import { useReference } from './conform.js'
import type { Deviant } from './deviants.js'

/**
 * Tests that each probe reports its deviant server. In the long project the probes of all rules run with the first one
 * of a rule, and probes of other rules report nothing. Each rule has its own reference, because an account has at most
 * 20 bots.
 */
export function testDeviants(
  rules: readonly string[],
  deviants: readonly Deviant[],
  options: { readonly autoApprove?: boolean } = {},
): void {
  const byRule = new Map<string, Deviant[]>()
  for (const it of someOf(deviants))
    byRule.set(ruleOf({ id: it[0] }), [...(byRule.get(ruleOf({ id: it[0] })) ?? []), it])
  describe.each([...byRule])('rule %s', (rule, own) => {
    const reference = useReference(options)

    test.each(own)('reports the deviant server of %s', async (id, deviate) => {
      const only = isWhole && id === own[0]?.[0] ? [rule, ...rules] : [rule]
      const { results } = await reference.run({ only, deviate })
      const reported = results.filter(({ result }) => result === 'differs')
      expect(reported.map(({ probe }) => probe)).toContain(id)
      expect(reported.filter((it) => it.rule !== rule)).toEqual([])
    })
  })
}

/**
 * Tests that each deviant server is reported for its probes alone.
 * @param amongAll deviants for which all probes of the group run; for the others, the probes of their rule
 */
export function testEachAlone(group: string, deviants: readonly Deviant[], amongAll: readonly string[]): void {
  const reference = useReference()

  test.each(deviants)('a platform that deviates in %s is reported for it alone', async (probes, deviate) => {
    const only = [amongAll.includes(probes) ? group : ruleOf({ id: probes })]
    const { results } = await reference.run({ only, deviate })
    const found = results.filter(({ result }) => result === 'differs').map(({ probe }) => probe)
    expect(found.toSorted()).toEqual(probes.split(' ').toSorted())
  })
}
