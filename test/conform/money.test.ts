import { expect, test } from 'vitest'
import { useReference } from '../support/conform/conform.js'
import { moneyFaults } from '../support/conform/deviants/faults.js'

const reference = useReference()
/** Faults that no platform may have, because the interface forbids them. */
const specified = [
  'the first verify redeems',
  'the first verify marks the voucher',
  'a second redemption succeeds',
  'a second redemption by QR token succeeds',
  'concurrent redemptions succeed',
  'code and QR token of a voucher are redeemed concurrently',
  'a redemption cannot be read',
  'a second reversal succeeds',
  'concurrent reversals succeed',
  'the quota is exceeded',
  'concurrent issues exceed the quota',
  'a voucher is redeemed before it is valid',
  'an expired voucher is redeemed',
  'a replay redeems again',
]
const faults = moneyFaults.filter(([fault]) => specified.includes(fault))

test.each(faults)('a platform where %s has a specified difference', async (_fault, probe, deviate) => {
  const { results } = await reference.run({ only: [probe], deviate })
  const found = results.find((it) => it.probe === probe)
  expect(found).toMatchObject({ result: 'differs', basis: 'specified', kind: 'money' })
})

test('table of specified faults names faults that exist', () => {
  expect(faults.length).toBe(specified.length)
})
