import { expect, test } from 'vitest'
import { startReference } from '../support/conform/conform.js'
import { encryption } from '../support/conform/deviants/encryption.js'
import { testEachAlone } from '../support/conform/test-deviants.js'

testEachAlone('encryption', encryption, [
  'bootstrap-and-session/request-keys',
  'envelopes/replay dispatch-order/replay replay-marks/after-other-calls',
  'dispatch-order/tag dispatch-order/additional-data',
  'inner-responses/success',
  'session-origins/other-origin dispatch-order/origin dispatch-order/origin-before-tag',
])

test('platform without encryption follows the rules of sessions and dispatches', async () => {
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

test('reference follows the rules over the encrypted transport too', async () => {
  const reference = await startReference({ rateLimit: true })
  const { results } = await reference.run({ encrypted: true })
  expect(results.filter(({ result }) => result !== 'holds' && result !== 'not_applicable')).toEqual([])
  expect(results.filter(({ result }) => result === 'holds').length).toBeGreaterThan(results.length * 0.8)
  await reference.close()
})
