import { afterEach, beforeEach, expect, it } from 'vitest'
import * as bots from '../../../src/store/bots/bots.js'
import { list, sendAsBot, sendAsUser, setBlocked, start } from '../../../src/store/bots/chats.js'
import type { Store } from '../../../src/store/store.js'
import { openTestStore } from '../../support/store/engines.js'
import { locksOf, stepsOf, unusedParameters } from '../../support/store/store-steps.js'

const NOW = 10_000
const newDeliveryId = () => 'dlv_1'

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await store.write(() => bots.apply('acc', 'bot_1', { name: 'Bot', username: 'coffee_bot' }, NOW, true))
  const chat = { botId: 'bot_1', userId: 'alice', type: 'private', chatId: 'chat_1', now: NOW, newDeliveryId } as const
  await store.write(() => start(chat))
})
afterEach(() => store.close())

it('messages and blocks of a chat lock its row, from which they take the next message id', async () => {
  const message = { chatId: 'chat_1', text: 'Hello', now: NOW }
  expect(await locksOf(store, () => sendAsBot('bot_1', message))).toEqual(['row chats'])
  expect(await locksOf(store, () => sendAsUser(message, newDeliveryId))).toEqual(['row chats', 'row update_queues'])
  const block = () => setBlocked('chat_1', true, { now: NOW, newDeliveryId })
  expect(await locksOf(store, block)).toEqual(['row chats', 'row update_queues'])
})

it('list of chats has no unused SQL parameter, which PostgreSQL refuses', async () => {
  expect(unusedParameters(await stepsOf(store, () => list({ user_id: 'alice' })))).toEqual([])
})
