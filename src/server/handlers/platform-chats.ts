import { type PlatformUpdate, platformPayload, platformUpdateIssues } from '../../domain/bot/platform-update.js'
import * as chats from '../../store/bots/chats.js'
import * as updates from '../../store/delivery/updates.js'
import { answer, type Checks, type MakeHandlers } from '../handler.js'

type UserSide = 'addUpdate' | 'createChat' | 'chats' | 'messages' | 'sendAsUser' | 'blockChat' | 'unblockChat'

export const platformChatChecks: Checks = {
  'platform.addUpdate': (body: PlatformUpdate) => platformUpdateIssues(body),
}

/** The user's side of bots: chats, messages, and updates that the operator makes (DECISIONS.md#operator-api). */
export const platformChatHandlers: (
  deps: Parameters<MakeHandlers<'platform'>>[0],
) => Pick<ReturnType<MakeHandlers<'platform'>>, UserSide> = ({ store, clock, newId, random, keys }) => {
  const newDeliveryId = () => newId('dlv')
  const setBlocked = async ({ chatId }: { chatId: string }, blocked: boolean) =>
    answer(await store.write(() => chats.setBlocked(chatId, blocked, { now: clock.now(), newDeliveryId })))
  return {
    addUpdate: ({ botId, ...it }) => {
      const now = clock.now()
      const newPayloadId = () => Buffer.from(random(10)).toString('hex')
      const payload = platformPayload(it, newPayloadId, now)
      return store.write(() => updates.addByPlatform({ botId, type: it.type, payload, now, newDeliveryId }))
    },

    createChat: async ({ bot_id: botId, user_id: userId, type = 'private' }) => {
      const call = { botId, userId, type, chatId: newId('chat'), now: clock.now(), newDeliveryId }
      return answer(await store.write(() => chats.start(call)))
    },
    chats: async (filter) => answer(await store.read(() => chats.list(filter))),
    messages: async ({ chatId, ...page }) => answer(await store.read(() => chats.messages(chatId, page, keys))),
    sendAsUser: async ({ chatId, text }) =>
      answer(await store.write(() => chats.sendAsUser({ chatId, text, now: clock.now() }, newDeliveryId))),
    blockChat: (input) => setBlocked(input, true),
    unblockChat: (input) => setBlocked(input, false),
  }
}
