import { expect, test } from 'vitest'
import { useReference } from '../support/conform/conform.js'
import { tenants } from '../support/conform/deviants/callers.js'

const reference = useReference()

test('the reference keeps the boundary of two applications in every probe', async () => {
  const { results } = await reference.run({ only: ['tenants'] })
  expect(results.length).toBe(16)
  expect(results.filter(({ result }) => result !== 'holds')).toEqual([])
})

test.each(tenants)('the leak of %s alone is a difference, and specified', async (probe, deviate) => {
  const { results } = await reference.run({ only: [probe], deviate })
  const found = results.find((it) => it.probe === probe)
  expect(found).toMatchObject({ result: 'differs', basis: 'specified' })
})

test('a platform that shows the redemption of another tenant differs in order-of-checks too', async () => {
  const only = ['order-of-checks/object-of-another-tenant']
  const [, deviate] = tenants.find(([id]) => id === 'tenants/redemption') ?? []
  const { results } = await reference.run({ only, deviate: deviate ?? ((it) => it) })
  expect(results).toMatchObject([{ result: 'differs', basis: 'specified', kind: 'tenant' }])
})
