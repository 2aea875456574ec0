import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Transport } from '../../src/client/transport.js'
import { type Reference, startReference } from '../support/conform/conform.js'
import { relayed, webhooks } from '../support/conform/deviants/webhooks.js'
import { type DeliveryRelay, startDeliveryRelay } from '../support/webhook/delivery-relay.js'

let reference: Reference
let relay: DeliveryRelay
beforeAll(async () => {
  reference = await startReference()
  relay = await startDeliveryRelay()
})
afterAll(async () => {
  await reference.close()
  await relay.close()
})

const deviants = [
  ...webhooks,
  ...relayed.map(
    ([only, differs, change]) => [only, differs, (plain: Transport) => relay.deviate(change)(plain)] as const,
  ),
]

test.each(deviants)(
  'of %s, a platform that deviates in %s is reported for it alone',
  async (only, differs, deviate) => {
    const { results } = await reference.run({ only: [only], deviate })
    const found = results.filter(({ result }) => result === 'differs').map(({ probe }) => probe)
    expect(found.toSorted()).toEqual(differs.toSorted())
  },
)

test('restores the selected update types of the bot and deletes its webhook at the end', async () => {
  const { left } = await reference.run({ only: ['webhook-settings/mode-webhook'] })
  expect(left).toEqual([])
})
