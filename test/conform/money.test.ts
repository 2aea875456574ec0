import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { useReference } from '../support/conform/conform.js'
import { moneyFaults } from '../support/conform/deviants/faults.js'
import { marked, money } from '../support/conform/deviants/vouchers.js'

const reference = useReference()
const specifiedFaults = [
  'code and QR token of a voucher are redeemed concurrently',
  'an expired voucher is redeemed',
  'a voucher is redeemed before it is valid',
  'a replay redeems again',
]

test.each([...money, ...marked])('the fault of %s alone is a difference, and specified', async (probe, deviate) => {
  const { results } = await reference.run({ only: [ruleOf({ id: probe })], deviate, maxWaitMs: 0 })
  const found = results.find((it) => it.probe === probe)
  expect(found).toMatchObject({ result: 'differs', basis: 'specified' })
})

test.each(moneyFaults.filter(([fault]) => specifiedFaults.includes(fault)))(
  'a platform where %s has a specified difference',
  async (_fault, probe, deviate) => {
    const { results } = await reference.run({ only: [ruleOf({ id: probe })], deviate })
    const found = results.find((it) => it.probe === probe)
    expect(found).toMatchObject({ result: 'differs', basis: 'specified', kind: 'money' })
  },
)
