import { afterEach, beforeEach, expect, it } from 'vitest'
import type { DeliveryRow, WebhookRow } from '../../../src/domain/bot/rows.js'
import { unseal } from '../../../src/domain/sealing.js'
import * as webhooks from '../../../src/store/delivery/webhooks.js'
import { all } from '../../../src/store/operation.js'
import { addUpdate } from '../../../src/store/outbox.js'
import type { Store } from '../../../src/store/store.js'
import { seededRandom } from '../../support/server/app.js'
import { plantBot } from '../../support/server/webhooks.js'
import { openTestStore } from '../../support/store/engines.js'
import { keys } from '../../support/store/ledger.js'

const BOT = 'bot_1'
const LISTENER = 'http://127.0.0.1:4000/'
const OWN = 'https://hook.example/path'
const sealing = { keys, random: seededRandom('leases') }

let store: Store
let made: number
beforeEach(async () => {
  store = openTestStore()
  made = 0
  await store.write(() => plantBot(BOT))
})
afterEach(() => store.close())

const newDeliveryId = () => `dlv_${++made}`
const borrow = (leaseId: string, leaseNow: number) =>
  store.write(() => {
    const lease = { leaseId, holder: `listener ${leaseId}`, url: LISTENER, secret: 'its-secret' }
    return webhooks.borrow({ botId: BOT, ...lease, leaseNow, until: leaseNow + 30, now: 1, newDeliveryId }, sealing)
  })
const set = (url: string) =>
  store.write(() => {
    const request = { url, origin: new URL(url).origin, secret: 'own-secret' }
    const call = { botId: BOT, request, dropPending: false, warnings: [], newSecret: 'new', now: 2, newDeliveryId }
    return webhooks.set(call, sealing)
  })
const giveBack = (leaseId: string) => store.write(() => webhooks.giveBack(BOT, ({ id }) => id === leaseId))
const expire = (leaseNow: number) => store.write(() => webhooks.endExpiredLeases(leaseNow))
const add = () =>
  store.write(() => addUpdate({ botId: BOT, type: 'ping', chatId: null, payload: {}, now: 3, newDeliveryId }))
const row = () => store.read(() => webhooks.webhookOf(BOT))
const statuses = async () =>
  (await store.read(() => all<DeliveryRow>('select * from deliveries order by update_id'))).map((it) => it.status)
/** URL and secret in effect; null for a bot that uses polling. */
const inEffect = async () => {
  const found = await row()
  return found && [unseal(keys, BOT, found.url), unseal(keys, BOT, found.secret)]
}

it('borrowed webhook leads to the listener, then regains its settings', { tags: 'borrowed-webhooks/1' }, async () => {
  await set(OWN)
  const before = await row()
  expect(await borrow('a', 100)).toBeNull()
  expect(await inEffect()).toEqual([LISTENER, 'its-secret'])
  expect(await giveBack('a')).toBe(true)
  expect(await row()).toEqual(before)
  expect(await giveBack('a')).toBe(false)
})

it('bot without a webhook can poll undelivered updates after the lease', async () => {
  await add()
  await borrow('a', 100)
  expect(await statuses()).toEqual(['pending'])
  await giveBack('a')
  expect(await row()).toBeNull()
  expect(await statuses()).toEqual(['cancelled'])
})

it('lease ends 30 s after its last renewal, and not before', { tags: 'borrowed-webhooks/1' }, async () => {
  await set(OWN)
  await borrow('a', 100)
  await borrow('a', 120)
  expect(await expire(149)).toBe(0)
  expect(await inEffect()).toEqual([LISTENER, 'its-secret'])
  expect(await expire(150)).toBe(1)
  expect(await inEffect()).toEqual([OWN, 'own-secret'])
})

it('second listener is refused, naming the holder, until the lease ends', { tags: 'borrowed-webhooks/2' }, async () => {
  await set(OWN)
  const before = await row()
  await borrow('a', 100)
  const details = { holder: 'listener a', url: 'http://127.0.0.1:4000' }
  expect(await borrow('b', 129)).toMatchObject({ code: 'WEBHOOK_BORROWED', details })
  expect(await borrow('b', 130)).toBeNull()
  expect(await giveBack('a')).toBe(false)
  await giveBack('b')
  expect(await row()).toEqual(before)
})

it('webhook set during a lease is in effect only after the lease', { tags: 'borrowed-webhooks/2' }, async () => {
  await borrow('a', 100)
  expect(await set(OWN)).toMatchObject({ delivery_mode: 'webhook', url: 'https://hook.example/…' })
  expect(await inEffect()).toEqual([LISTENER, 'its-secret'])
  await borrow('a', 110)
  await giveBack('a')
  expect(await inEffect()).toEqual([OWN, 'own-secret'])
  expect((await row()) as WebhookRow).toMatchObject({ lease: null, lease_until: null })
})

it('webhook removed during a lease stays removed after it', { tags: 'borrowed-webhooks/2' }, async () => {
  await set(OWN)
  await borrow('a', 100)
  await add()
  expect(await store.write(() => webhooks.remove(BOT, false))).toMatchObject({ delivery_mode: 'polling' })
  expect(await statuses()).toEqual(['pending'])
  await giveBack('a')
  expect(await row()).toBeNull()
})
