import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DeliveryRow, UpdateRow } from '../../src/domain/bot/rows.js'
import * as apps from '../../src/store/apps.js'
import { all, run } from '../../src/store/operation.js'
import { addUpdate, notifyLinkedBots } from '../../src/store/outbox.js'
import type { Store } from '../../src/store/store.js'
import { plantBot, plantWebhook } from '../support/server/webhooks.js'
import { openTestStore } from '../support/store/engines.js'
import { locksOf, noticesOf } from '../support/store/store-steps.js'

const NOW = 10_000

let store: Store
let made: number
beforeEach(async () => {
  store = openTestStore()
  made = 0
  for (const id of ['bot_2', 'bot_1', 'bot_3']) await store.write(() => plantBot(id))
})
afterEach(() => store.close())

const newDeliveryId = () => `dlv_${++made}`
const updateTo = (botId: string, chatId: string | null = null) => {
  const update = { botId, chatId, type: 'ping', payload: { a: 1 }, now: NOW, newDeliveryId } as const
  return () => addUpdate(update)
}
const updates = () => store.read(() => all<UpdateRow>('select * from updates order by bot_id, update_id'))
const deliveries = () => store.read(() => all<DeliveryRow>('select * from deliveries order by update_id'))

describe('new update', () => {
  it('update of a bot without a webhook is stored without a delivery', async () => {
    const body = await store.write(updateTo('bot_1', 'chat_1'))
    expect(JSON.parse(body as string)).toMatchObject({ update_id: 1, type: 'ping', ping: { a: 1 } })
    const row = { bot_id: 'bot_1', update_id: 1, type: 'ping', chat_id: 'chat_1', body, pending: 1, request_id: null }
    expect(await updates()).toMatchObject([{ ...row, created_at: NOW }])
    expect(await deliveries()).toEqual([])
  })

  it('deliveries of a chat share a key; a delivery without a chat has its own key', async () => {
    await store.write(() => plantWebhook('bot_1'))
    for (const chatId of ['chat_1', 'chat_1', null]) await store.write(updateTo('bot_1', chatId))
    const pending = { bot_id: 'bot_1', update_type: 'ping', status: 'pending', ready: 1, next_attempt_at: NOW }
    expect(await deliveries()).toMatchObject([
      { ...pending, id: 'dlv_1', update_id: 1, chat_key: 'chat_1' },
      { ...pending, id: 'dlv_2', update_id: 2, chat_key: 'chat_1' },
      { ...pending, id: 'dlv_3', update_id: 3, chat_key: 'update 3' },
    ])
  })

  it('update of a type that the bot has not selected is not stored and uses no id', async () => {
    await store.write(() => run(`update update_queues set allowed_updates = '["message"]'`))
    expect(await store.write(updateTo('bot_1'))).toBeNull()
    expect(await updates()).toEqual([])
    expect(await noticesOf(store, updateTo('bot_1'))).toEqual([])
  })

  it('new update locks the queue, from which it takes its id, and notifies polls of the bot', async () => {
    expect(await locksOf(store, updateTo('bot_1'))).toEqual(['row update_queues'])
    expect(await noticesOf(store, updateTo('bot_1'))).toEqual(['bot_1'])
    expect((await updates()).map(({ update_id }) => update_id)).toEqual([1, 2])
  })
})

describe('update for linked bots', () => {
  beforeEach(async () => {
    for (const id of ['app_1', 'app_2']) await store.write(() => apps.create('acc', id, { name: id }, NOW))
  })
  const notifyApp = (payload: () => object) =>
    store.write(() =>
      notifyLinkedBots('app_1', 'voucher_issued', payload, { now: NOW, newDeliveryId, requestId: 'req_1' }),
    )
  const link = (botId: string, appId: string, allowed: string) =>
    store.write(function* () {
      yield* run('update bots set application_id = $2, linked_at = 0 where id = $1', [botId, appId])
      yield* run('update update_queues set allowed_updates = $2 where bot_id = $1', [botId, allowed])
    })

  it('each linked bot that selected the type gets the update with the request that caused it', async () => {
    await link('bot_2', 'app_1', '["voucher_issued"]')
    await link('bot_1', 'app_1', '["ping","voucher_issued"]')
    await link('bot_3', 'app_2', '["voucher_issued"]')
    await notifyApp(() => ({ voucher: 1 }))
    expect((await updates()).map((it) => [it.bot_id, it.type, it.chat_id, it.request_id])).toEqual([
      ['bot_1', 'voucher_issued', null, 'req_1'],
      ['bot_2', 'voucher_issued', null, 'req_1'],
    ])
  })

  it('payload is not built if no linked bot selected the type', async () => {
    await link('bot_1', 'app_1', '["ping"]')
    await notifyApp(() => {
      throw new Error('built')
    })
    expect(await updates()).toEqual([])
  })
})
