import { expect, test } from 'vitest'
import { ruleOf } from '../../src/conform/probe.js'
import { useReference } from '../support/conform/conform.js'
import { marked, money } from '../support/conform/deviants/vouchers.js'

const reference = useReference()

test.each([...money, ...marked])('the fault of %s alone is a difference, and specified', async (probe, deviate) => {
  const { results } = await reference.run({ only: [ruleOf({ id: probe })], deviate, maxWaitMs: 0 })
  const found = results.find((it) => it.probe === probe)
  expect(found).toMatchObject({ result: 'differs', basis: 'specified' })
})
