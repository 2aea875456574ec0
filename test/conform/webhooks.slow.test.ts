import { afterAll, beforeAll, expect, test } from 'vitest'
import { startReference } from '../support/conform/conform.js'
import { relayed, webhooks } from '../support/conform/deviants/webhooks.js'
import type { Deviant } from '../support/conform/deviants.js'
import { testEachAlone } from '../support/conform/test-deviants.js'
import { type DeliveryRelay, startDeliveryRelay } from '../support/webhook/delivery-relay.js'

let relay: DeliveryRelay
beforeAll(async () => {
  relay = await startDeliveryRelay()
})
afterAll(() => relay.close())

const deviants = relayed.map(([probe, change]): Deviant => [probe, (plain) => relay.deviate(change)(plain)])
testEachAlone(
  'webhooks',
  [...webhooks, ...deviants],
  [
    'webhook-urls/http webhook-settings/same-rules webhook-urls/url-before-conflict',
    'signatures/signature signatures/signature-of-bytes',
  ],
)

test("run restores the bot's selected update types and deletes the webhook at the end", async () => {
  const reference = await startReference()
  const { left } = await reference.run({ only: ['webhook-settings/mode-webhook'] })
  expect(left).toEqual([])
  await reference.close()
})
