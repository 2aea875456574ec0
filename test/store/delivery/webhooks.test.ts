import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryRow, WebhookRow } from '../../../src/domain/bot/rows.js'
import { unseal } from '../../../src/domain/sealing.js'
import * as webhooks from '../../../src/store/delivery/webhooks.js'
import { all, run } from '../../../src/store/operation.js'
import { addUpdate } from '../../../src/store/outbox.js'
import type { Store } from '../../../src/store/store.js'
import { seededRandom } from '../../support/server/app.js'
import { plantBot } from '../../support/server/webhooks.js'
import { openTestStore } from '../../support/store/engines.js'
import { keys } from '../../support/store/ledger.js'
import { locksOf, noticesOf, stepsOf } from '../../support/store/store-steps.js'

const BOT = 'bot_1'
const NOW = 10_000
const LATER = 20_000
const URL_OF = 'https://hook.example/path'

let store: Store
let made: number
beforeEach(async () => {
  store = openTestStore()
  made = 0
  await store.write(() => plantBot(BOT))
})
afterEach(() => store.close())

type WebhookSet = Parameters<typeof webhooks.set>[0]
const newDeliveryId = () => `dlv_${++made}`
const setting =
  (request: Partial<WebhookSet['request']> = {}, overrides: Partial<WebhookSet> = {}) =>
  () =>
    webhooks.set(
      {
        botId: BOT,
        request: { url: URL_OF, origin: 'https://hook.example', ...request },
        dropPending: false,
        warnings: [],
        newSecret: 'generated secret',
        now: NOW,
        newDeliveryId,
        ...overrides,
      },
      { keys, random: seededRandom('webhooks') },
    )
const set = (request: Partial<WebhookSet['request']> = {}, overrides: Partial<WebhookSet> = {}) =>
  store.write(setting(request, overrides))
const remove = (dropToo = false) => store.write(() => webhooks.remove(BOT, dropToo))
const info = () => store.read(() => webhooks.info(BOT, keys, ['198.51.100.7']))
const add = () =>
  store.write(() => addUpdate({ botId: BOT, type: 'ping', chatId: null, payload: {}, now: NOW, newDeliveryId }))
const write = (sql: string) => store.write(() => run(sql))
const deliveries = () => store.read(() => all<DeliveryRow>('select * from deliveries order by update_id'))
/** The stored webhook with its URL and secrets in clear text. */
const stored = async () => {
  const row = (await store.read(() => webhooks.webhookOf(BOT))) as WebhookRow
  const clear = (sealed: string | null) => (sealed === null ? null : unseal(keys, BOT, sealed))
  return { ...row, url: clear(row.url), secret: clear(row.secret), old_secret: clear(row.old_secret) }
}

const newHealth = { failing: 0, ip_address: null, last_error_at: null, last_error_message: null, last_success_at: null }
const plantHealth = () =>
  write(`update webhooks set failing = 1, ip_address = '198.51.100.1', last_error_at = 1, last_error_message = 'x',
    last_success_at = 2`)
const plantedHealth = {
  failing: 1,
  ip_address: '198.51.100.1',
  last_error_at: 1,
  last_error_message: 'x',
  last_success_at: 2,
}

describe('settings of a webhook', () => {
  it('first webhook without a secret returns the generated one and stores a new endpoint', async () => {
    const mode = await set({ allowedUpdates: ['ping'], allowedIps: ['198.51.100.1'], maxConnections: 7 })
    const shown = { allowed_updates: ['ping'], allowed_ips: ['198.51.100.1'], max_connections: 7 }
    expect(mode).toMatchObject({
      delivery_mode: 'webhook',
      url: 'https://hook.example/…',
      ...shown,
      one_time_secret_token: 'generated secret',
    })
    expect(await stored()).toEqual({
      bot_id: BOT,
      url: URL_OF,
      origin: 'https://hook.example',
      secret: 'generated secret',
      old_secret: null,
      old_secret_until: null,
      allowed_ips: '["198.51.100.1"]',
      max_connections: 7,
      ...newHealth,
      set_at: NOW,
      lease: null,
      lease_until: null,
    })
    expect(await store.read(() => webhooks.allowedUpdatesOf(BOT))).toBe('["ping"]')
  })

  it('secret of the call, and the secret of an existing webhook, are not returned', async () => {
    const shown = 'one_time_secret_token'
    expect(await set({ secret: 'own secret' })).not.toHaveProperty(shown)
    expect(await set({ maxConnections: 7 })).not.toHaveProperty(shown)
    expect(await stored()).toMatchObject({ secret: 'own secret', max_connections: 7 })
  })

  it('webhook set that repeats the settings writes and notifies nothing', { tags: 'webhook-settings/5' }, async () => {
    await set({ secret: 'own secret' })
    const steps = await stepsOf(store, setting({ secret: 'own secret' }, { now: LATER }))
    expect(steps.filter(({ kind }) => kind === 'run' || kind === 'notify')).toEqual([])
    expect(await stored()).toMatchObject({ set_at: NOW })
  })

  it('new URL resets the health, other settings keep it; both notify', { tags: 'webhook-settings/5' }, async () => {
    await set()
    await plantHealth()
    expect(await noticesOf(store, setting({ maxConnections: 7 }, { now: LATER }))).toEqual([BOT])
    expect(await stored()).toMatchObject({ ...plantedHealth, set_at: LATER })
    expect(await noticesOf(store, setting({ url: `${URL_OF}/2` }))).toEqual([BOT])
    expect(await stored()).toMatchObject({ ...newHealth, url: `${URL_OF}/2` })
  })

  it('replaced secret is kept until the end of its grace period, if there is one', async () => {
    await set({ secret: 'first' })
    expect(await stored()).toMatchObject({ secret: 'first', old_secret: null })
    await set({ secret: 'second', graceSeconds: 60 })
    const kept = { old_secret: 'first', old_secret_until: NOW + 60_000 }
    expect(await stored()).toMatchObject({ secret: 'second', ...kept })
    await set({ maxConnections: 7 })
    expect(await stored()).toMatchObject({ secret: 'second', ...kept })
    await set({ secret: 'third' })
    expect(await stored()).toMatchObject({ secret: 'third', old_secret: null, old_secret_until: null })
  })
})

describe('pending updates of a webhook', () => {
  it('first set creates deliveries of pending updates, a change does not', { tags: 'webhook-settings/5' }, async () => {
    await add()
    await add()
    expect(await set()).toMatchObject({ pending_update_count: 2, dropped_updates: 0 })
    expect((await deliveries()).map((it) => [it.update_id, it.status, it.created_at])).toEqual([
      [1, 'pending', NOW],
      [2, 'pending', NOW],
    ])
    await write(`update deliveries set status = 'failed', attempt_count = 1 where update_id = 1`)
    await set({ maxConnections: 7 })
    expect((await deliveries()).map(({ status }) => status)).toEqual(['failed', 'pending'])
  })

  it('set that drops pending updates returns their number and notifies the bot', { tags: 'deliveries/2' }, async () => {
    await set()
    await add()
    await add()
    expect(await set({}, { dropPending: true })).toMatchObject({ dropped_updates: 2, pending_update_count: 0 })
    expect((await deliveries()).map((it) => it.cancel_reason)).toEqual(['dropped', 'dropped'])
    expect(await noticesOf(store, setting({}, { dropPending: true }))).toEqual([])
    await add()
    expect(await noticesOf(store, setting({}, { dropPending: true }))).toEqual([BOT])
  })

  it('removal keeps updates and types, cancels deliveries, is idempotent', { tags: 'webhook-removal/2' }, async () => {
    await set({ allowedUpdates: ['ping'] })
    await add()
    const polling = { delivery_mode: 'polling', url: null, allowed_updates: ['ping'], dropped_updates: 0 }
    expect(await noticesOf(store, () => webhooks.remove(BOT, false))).toEqual([BOT])
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', cancel_reason: 'webhook_deleted' }])
    expect(await noticesOf(store, () => webhooks.remove(BOT, false))).toEqual([])
    expect(await remove()).toMatchObject({ ...polling, pending_update_count: 1 })
  })

  it('removal that drops pending updates does so without a webhook too', async () => {
    await set()
    await add()
    expect(await remove(true)).toMatchObject({ dropped_updates: 1, pending_update_count: 0 })
    await add()
    expect(await noticesOf(store, () => webhooks.remove(BOT, true))).toEqual([BOT])
    expect(await remove(true)).toMatchObject({ dropped_updates: 0, pending_update_count: 0 })
  })

  it('removal of a webhook ends deliveries only if there was one', async () => {
    await set()
    await add()
    await remove()
    await write(`update deliveries set status = 'failed', cancel_reason = null`)
    await remove()
    expect(await deliveries()).toMatchObject([{ status: 'failed' }])
  })
})

describe('information about a webhook', () => {
  it('info counts failed and dead deliveries; without a webhook only the dead ones', async () => {
    await set()
    for (let n = 0; n < 6; n++) await add()
    await write(`update deliveries set status = 'failed' where update_id <= 2`)
    await write(`update deliveries set status = 'dead_letter' where update_id in (3, 4, 5)`)
    await write('update updates set pending = 0 where update_id in (3, 4, 5)')
    expect(await info()).toMatchObject({
      pending_update_count: 3,
      failed_count: 2,
      dead_letter_count: 3,
    })
    await write('delete from webhooks')
    expect(await info()).toMatchObject({ failed_count: 0, dead_letter_count: 3 })
  })

  it('info of a bot without updates has zero counts and the selected update types', async () => {
    expect(await info()).toMatchObject({ failed_count: 0, dead_letter_count: 0, pending_update_count: 0 })
    expect(await store.read(() => webhooks.allowedUpdatesOf('bot_2'))).toBeNull()
    await set({ allowedUpdates: ['ping'] })
    expect(await info()).toMatchObject({ url: URL_OF, allowed_updates: ['ping'] })
  })
})

it('set and removal lock the queue of the bot, so that no update is added meanwhile', async () => {
  expect(await locksOf(store, setting())).toEqual(['row update_queues', 'row webhooks'])
  expect(await locksOf(store, () => webhooks.remove(BOT, false))).toEqual(['row update_queues'])
})
