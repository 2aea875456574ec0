import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reference, startReference } from '../support/conform/conform.js'
import { encryption } from '../support/conform/deviants/encryption.js'

let reference: Reference
beforeAll(async () => {
  reference = await startReference()
})
afterAll(() => reference.close())

test.each(encryption)(
  'of %s, a platform that deviates in %s is reported for it alone',
  async (only, differs, deviate) => {
    const { results } = await reference.run({ only: [only], deviate })
    const found = results.filter(({ result }) => result === 'differs').map(({ probe }) => probe)
    expect(found.toSorted()).toEqual(differs.toSorted())
  },
)

test('a platform whose transport is off follows the rules of sessions and dispatches', async () => {
  const off = await startReference({ secure: false })
  const { results } = await off.run({ only: ['encrypted-transport'] })
  const found = results.filter(({ result }) => result === 'holds').map(({ probe }) => probe)
  expect(found).toEqual(['encrypted-transport/session-while-off', 'encrypted-transport/dispatch-while-off'])
  await off.close()
})

test('a platform that requires encryption of all calls follows the rules of refusals', async () => {
  const required = await startReference({ secure: 'required' })
  const { results } = await required.run({ only: ['required-encryption'], encrypted: true })
  expect(results.filter(({ result }) => result !== 'holds')).toEqual([])
  await required.close()
})
