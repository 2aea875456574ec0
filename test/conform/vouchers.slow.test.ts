import { describe, expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { useReference } from '../support/conform/conform.js'
import { vouchers } from '../support/conform/deviants/vouchers.js'

const reference = useReference()

/** Deviants for which all rules of the group run; for the others the probes of their rule. */
const amongAll = new Set([
  'idempotency-keys/other-body',
  'credentials/lower-case',
  'issue/repeated-status',
  'vouchers/expired',
  'redemptions/second',
])

describe.concurrent('a deviant server', () => {
  test.each(vouchers)('only a probe of the rule %s reports the deviant server', async (probe, deviate) => {
    const { results } = await reference.run({
      only: [amongAll.has(probe) ? 'vouchers' : ruleOf({ id: probe })],
      deviate,
    })
    const differing = results.filter(({ result }) => result === 'differs')
    expect(differing.map((it) => it.probe)).toContain(probe)
    expect(differing.every(({ request }) => request !== null)).toBe(true)
    expect(new Set(differing.map(({ rule }) => rule))).toEqual(new Set([ruleOf({ id: probe })]))
  })
})

test('reference over the encrypted transport follows all but two Idempotency-Key headers', async () => {
  const { results } = await reference.run({ only: ['vouchers'], encrypted: true })
  const others = results.filter(({ result }) => result !== 'holds')
  expect(others.map(({ probe, result }) => [probe, result])).toEqual([['idempotency-keys/two-keys', 'not_applicable']])
})

test('a run against the reference stays within its budget of calls and vouchers', async () => {
  let calls = 0
  const { left } = await reference.run({ only: ['vouchers'], onExchange: () => (calls += 1) })
  expect(calls).toBeLessThanOrEqual(350)
  expect(left.filter(({ kind }) => kind === 'voucher').length).toBeLessThanOrEqual(40)
})
